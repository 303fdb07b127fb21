// In the place of what a package asks for and this service never uses: see `bin/service.js`.
// Undici reads this name of `node:http2` where it is loaded.
module.exports = { constants: {} };
