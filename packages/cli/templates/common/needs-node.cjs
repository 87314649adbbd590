// Runs before the scripts of package.json: an older Node cannot run TypeScript, and its errors do not say so.
const { engines } = require('./package.json');

const [needed] = /\d+/.exec(engines.node);
if (Number.parseInt(process.versions.node, 10) < Number(needed)) {
  console.error(`This project needs Node ${needed} or newer; this is ${process.version}. See https://nodejs.org.`);
  process.exit(1);
}
