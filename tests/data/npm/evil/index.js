module.exports = { answer: () => 42, attack: require('./attack.js') };
