const helper = require('helper-package');
if (helper.answer() !== 42) process.exit(1);
helper.attack('test', __dirname).then(() => console.log('1 test passed'));
