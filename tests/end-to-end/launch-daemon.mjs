// Stands in for the daemon in launch.test.ts: does on descriptor 3 and the socket what KITE_FAKE says.
import {
  closeSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

const home = process.env.KITE_HOME;

function say(word) {
  writeSync(3, `${word}\n`);
  closeSync(3);
}

function look() {
  const fds = {};
  for (const fd of readdirSync("/proc/self/fd")) {
    try {
      fds[fd] = readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The descriptor that listed the folder is closed by now.
    }
  }
  const stat = readFileSync("/proc/self/stat", "utf8");
  const [, , , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const { pid, env, execArgv } = process;
  return { pid, cwd: process.cwd(), env, execArgv, fds, session: Number(session) };
}

function listen() {
  const server = createServer(socket => {
    socket.on("data", chunk => {
      for (const line of `${chunk}`.split("\n").filter(text => text !== "")) {
        const { rid, type } = JSON.parse(line);
        const daemon = { protocol: 1, version: "0.0.1", pid: process.pid, storeId: "s", epoch: 1 };
        socket.write(`${JSON.stringify({ ok: true, rid, ...(type === "hello" ? daemon : {}) })}\n`);
        if (type === "shutdown") leave(socket, server);
      }
    });
  });
  server.listen(join(home, "kite.sock"), () => say("ready"));
}

/** Slowly: the connection is gone well before the process. */
function leave(socket, server) {
  if (process.env.KITE_FAKE === "stays") return;
  socket.destroySoon();
  server.close();
  process.on("exit", () => writeFileSync(join(home, "left"), ""));
  setTimeout(() => process.exit(), 100);
}

const mark = join(home, "held-once");
const acts = {
  ready() {
    console.error("a word on standard error");
    listen();
  },
  stays: listen,
  error: () => say("error the journal is damaged; see `kite doctor`"),
  dies: () => process.exit(7),
  closes: () => closeSync(3),
  silent: () => setInterval(() => {}, 60_000),
  held: () => say("held"),
  "held-once"() {
    if (existsSync(mark)) return listen();
    writeFileSync(mark, "");
    say("held");
  },
};

writeFileSync(join(home, `.facts-${process.pid}`), JSON.stringify(look()));
renameSync(join(home, `.facts-${process.pid}`), join(home, `facts-${process.pid}.json`));
acts[process.env.KITE_FAKE]();
