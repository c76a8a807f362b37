// Keeps processors busy while a command runs: `node tests/load.mjs 8 -- npm test`. Tests have to be green then, too.
import { spawn } from "node:child_process";
import { once } from "node:events";

const [count, separator, command, ...args] = process.argv.slice(2);
const busy = Number(count);
if (!Number.isInteger(busy) || busy < 1 || busy > 64 || separator !== "--" || command === undefined) {
  console.error("usage: node tests/load.mjs PROCESSES -- COMMAND [ARGUMENT ...]; 1 to 64 processes");
  process.exit(2);
}
// Each computes, and starts a process now and then, as builds do. It ends with its input, so it never outlives this.
const work = `
  process.stdin.on("end", () => process.exit()).resume();
  const { spawn } = require("node:child_process");
  const turn = () => {
    const until = Date.now() + 200;
    while (Date.now() < until);
    spawn("true").on("exit", () => setImmediate(turn));
  };
  turn();
`;
const workers = Array.from({ length: busy }, () =>
  spawn(process.execPath, ["-e", work], { stdio: ["pipe", "ignore", "ignore"] }),
);
const child = spawn(command, args, { stdio: "inherit" });
const [code, signal] = await once(child, "exit");
for (const worker of workers) worker.stdin.end();
process.exitCode = signal === null ? code : 1;
