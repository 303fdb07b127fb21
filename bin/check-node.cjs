// npm runs this at the end of an installation, on its own Node.js. The package `node` fetches its binary by a script,
// which the lock file does not cover. A binary with another SHA-256 is removed before it runs anything of this project.
// Plain old JavaScript, as in bin/service.js.
var crypto = require('node:crypto');
var fs = require('node:fs');
var path = require('node:path');

// SHA-256 of bin/node in the registry's packages of 26.10.0, by platform.
var SHA256 = {
  'darwin arm64': '56d28b39a8048f0cd1af7ad7e09f6cbe1c04439b6dfeb6c8d9090c082af60861',
  'darwin x64': '083775c8c778a1ab7aee1c9971ba2dac29032b5f60da9db9a2b8e9d050544c31',
  'linux arm64': '71b004f18a82f3ea8f26109798564a12e5e4c7989a4c35b93851830b5815dd03',
  'linux x64': 'ab9c8eecf9f82d6693cdc3accced17034065c8d96213b0aa76a7e803d20ae1da',
};

var binary = path.join(__dirname, '../node_modules/node/bin/node');
var platform = `${process.platform} ${process.arch}`;

function check() {
  if (!fs.existsSync(binary)) return;
  var found = crypto.createHash('sha256').update(fs.readFileSync(binary)).digest('hex');
  if (found === SHA256[platform]) return;
  fs.unlinkSync(binary);
  process.stderr.write(
    `The Node.js that npm installed for ${platform} has an unexpected SHA-256 (${found}), so this check removed the file. Check your npm registry (\`npm config get registry\`), then run \`npm ci\` again.\n`,
  );
  process.exitCode = 1;
}

check();
