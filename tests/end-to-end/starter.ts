/** A program that starts a daemon and ends. Its argument: the paths, and the daemon's program. */
import { ensureDaemon } from "../../client/launch.ts";

const [paths, daemonProgram] = JSON.parse(process.argv[2] ?? "[]");
const { client } = await ensureDaemon({ paths, daemonProgram, env: process.env });
client.close();
