/** The daemon as it is, over the journal asked for. `HOME file|memory` */
import { loadConfig } from "../../../daemon/config.ts";
import { MemoryJournal } from "../../../daemon/journal-memory.ts";
import { createLog } from "../../../daemon/log.ts";
import { startDaemon } from "../../../daemon/main.ts";
import { claudeCode } from "../../../hooks/adapter/claude-code.ts";
import { kitePaths } from "../../../protocol/paths.ts";

const [, , home = "", kind] = process.argv;
const env = { KITE_HOME: home };
const paths = kitePaths(env);
const { values: config } = await loadConfig({ env, paths });
const { logger } = createLog(paths.log);
const journal = kind === "memory" ? { journal: new MemoryJournal() } : {};
const options = { paths, version: "bench", config, adapter: claudeCode, log: logger };
const started = await startDaemon({ ...options, ...journal });
if (started.is !== "started") throw new Error(`the daemon did not start: ${JSON.stringify(started)}`);
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
process.send?.({ rss: process.memoryUsage.rss() });
