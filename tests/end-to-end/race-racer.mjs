// One of many processes that race for one file; started by race.test.ts, which says where and how on the command line.
// Inside the lock it reads a counter and writes it back without any other protection: two holders at once would show.
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";

const [socketPath, file, how, id, roundsText] = process.argv.slice(2);
const rounds = Number(roundsText);
const counterFile = `${file}.counter`;
const insideFile = `${file}.inside`;

const socket = connect(socketPath);
const waiting = [];
let text = "";
let freed = () => {};
socket.on("data", chunk => {
  const lines = (text + chunk).split("\n");
  text = lines.pop();
  for (const line of lines.filter(one => one !== "")) {
    const message = JSON.parse(line);
    if (message.type !== "event") waiting.shift()(message);
    else if (message.event === "lock_granted") freed();
  }
});
socket.on("close", () => fail("the daemon closed the connection"));

function fail(why) {
  process.stderr.write(`${id}: ${why}\n`);
  process.exit(1);
}

/** Replies come in the order of the requests: one is under way at a time. */
function ask(message) {
  socket.write(`${JSON.stringify(message)}\n`);
  return new Promise(resolve => waiting.push(resolve));
}

function hookEvent(name, more) {
  return {
    type: "hook",
    event: { hook_event_name: name, session_id: id, cwd: "/", prompt_id: "p", ...more },
  };
}

const ways = {
  /** By request: refused while three wait already, and asked again when something moved. */
  request: {
    async lock() {
      for (;;) {
        const moved = new Promise(resolve => {
          freed = resolve;
        });
        const reply = await ask({ type: "file_lock", id, file, waitMs: 60_000 });
        if (reply.ok) return reply.token;
        if (reply.code !== "lock_queue_full") fail(JSON.stringify(reply));
        await moved;
      }
    },
    unlock: () => ask({ type: "file_unlock", id, file }),
  },
  /** As the hooks of a session do: an edit takes the lock, the end of the turn gives it up. All stand in line. */
  hook: {
    async lock(round) {
      const input = { file_path: file, old_string: "a", new_string: "b" };
      const use = { tool_name: "Edit", tool_use_id: `${id}-${round}`, tool_input: input };
      const reply = await ask(hookEvent("PreToolUse", use));
      if (!reply.ok || reply.output.includes("deny")) fail(JSON.stringify(reply));
      return null;
    },
    unlock: () => ask(hookEvent("Stop", {})),
  },
};

/** Inside the lock. Any other process in here at the same time is found out by one of the two. */
async function inside(token) {
  closeSync(openSync(insideFile, "wx"));
  const { count, last } = JSON.parse(readFileSync(counterFile, "utf8"));
  if (token !== null && !isLater(token, last)) fail(`the token ${token} does not follow ${last}`);
  // Whoever else believes to hold the lock has its chance here.
  await new Promise(resolve => setImmediate(resolve));
  writeFileSync(counterFile, JSON.stringify({ count: count + 1, last: token }));
  unlinkSync(insideFile);
}

function isLater(a, b) {
  if (b === null) return true;
  const [, epochA, grantA] = a.split(".").map(Number);
  const [, epochB, grantB] = b.split(".").map(Number);
  return epochA > epochB || (epochA === epochB && grantA > grantB);
}

const way = ways[how];
await ask({ type: "register", id, cwd: "/", pid: process.pid });
if (how === "request") await ask({ type: "subscribe", events: ["lock_granted"] });
process.stdout.write("ready\n");
await new Promise(resolve => process.stdin.once("data", resolve));
for (let round = 0; round < rounds; round += 1) {
  const token = await way.lock(round);
  await inside(token);
  const reply = await way.unlock();
  if (!reply.ok) fail(JSON.stringify(reply));
}
process.exit(0);
