/** A lock server that does nothing but lock: a Map, and with a second argument one write per command. `SOCKET [LOG]` */
import { openSync, writeSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { encodeLine, LineDecoder } from "../../../protocol/wire.ts";

interface Request {
  readonly type: string;
  readonly rid?: number;
  readonly id: string;
  readonly file: string;
  readonly progress?: boolean;
}

interface Lock {
  readonly holder: string;
  readonly line: { readonly id: string; readonly rid: number | undefined; readonly socket: Socket }[];
}

const locks = new Map<string, Lock>();
const [, , path, log] = process.argv;
const fd = log === undefined ? null : openSync(log, "a");
let grants = 0;

function handle(socket: Socket, text: string): void {
  const { type, rid, id, file, progress }: Request = JSON.parse(text);
  if (type !== "file_lock" && type !== "file_unlock") {
    socket.write(encodeLine({ rid, ok: true, pong: true }));
    return;
  }
  if (fd !== null) writeSync(fd, `${text}\n`);
  const lock = locks.get(file);
  if (type === "file_unlock") {
    const next = lock?.line.shift();
    if (lock === undefined || next === undefined) locks.delete(file);
    else {
      locks.set(file, { ...lock, holder: next.id });
      next.socket.write(grant(next.rid, file));
    }
    socket.write(encodeLine({ rid, ok: true, released: [file] }));
  } else if (lock === undefined) {
    locks.set(file, { holder: id, line: [] });
    socket.write(grant(rid, file));
  } else {
    lock.line.push({ id, rid, socket });
    if (progress === true) socket.write(encodeLine({ type: "event", event: "lock_queued", file }));
  }
}

function grant(rid: number | undefined, file: string): string {
  grants += 1;
  return encodeLine({ rid, ok: true, file, path: file, token: `ideal.1.${grants}` });
}

const server = createServer(socket => {
  const decoder = new LineDecoder();
  socket.on("data", chunk => {
    for (const line of decoder.push(chunk)) if ("text" in line) handle(socket, line.text);
  });
  socket.on("error", () => socket.destroy());
});
server.listen(path, () => process.send?.("ready"));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
