// Started by instance.test.ts, many at once: becomes the daemon of KITE_HOME and serves its pid, or says who it is not.
import { createServer } from "node:net";
import { acquireInstance, lockMethods } from "../../daemon/instance/instance.ts";
import { listenPrivately, unlinkStaleSocket } from "../../daemon/instance/socket.ts";
import { kitePaths } from "../../protocol/paths.ts";

const [method, wait] = process.argv.slice(2);
const paths = kitePaths(process.env);
const methods = lockMethods(process.env).filter(m => method === "any" || m.name === method);
const acquired = await acquireInstance(paths, { methods, waitMs: Number(wait) });
if (acquired.is === "acquired") {
  const stale = unlinkStaleSocket(paths);
  if (stale !== null) throw new Error(stale.error);
  await listenPrivately(
    createServer(socket => socket.end(String(process.pid))),
    paths,
  );
}
process.stdout.write(`${acquired.is}\n`);
