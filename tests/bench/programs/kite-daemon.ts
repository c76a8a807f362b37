/** The daemon as it is, over the journal asked for. `HOME file|memory|unsynced` */

import { mkdirSync } from "node:fs";
import { adapters } from "../../../bin/adapters.ts";
import { loadConfig } from "../../../daemon/config/config.ts";
import { createLog } from "../../../daemon/instance/log.ts";
import { type Disk, type DiskFile, nodeDisk } from "../../../daemon/journal/disk.ts";
import { FileJournal } from "../../../daemon/journal/file-journal.ts";
import { startDaemon } from "../../../daemon/start.ts";
import { kitePaths } from "../../../protocol/paths.ts";
import { MemoryJournal } from "../../journal/memory-journal.ts";

/** A disk that calls everything written safe. */
const unsynced: Disk = {
  ...nodeDisk,
  create: path => trusting(nodeDisk.create(path)),
  open: path => trusting(nodeDisk.open(path)),
};

function trusting(file: DiskFile): DiskFile {
  return {
    get size() {
      return file.size;
    },
    append: data => file.append(data),
    appendLarge: data => file.appendLarge(data),
    truncate: size => file.truncate(size),
    isAt: (path, bytes) => file.isAt(path, bytes),
    syncData: () => Promise.resolve(),
    syncAll: () => file.syncAll(),
    close: () => file.close(),
  };
}

const [, , home = "", kind] = process.argv;
const env = { KITE_HOME: home };
const paths = kitePaths(env);
const config = await loadConfig({ env, paths });
const { logger } = createLog(paths.log);
const journal = journalOf();
const options = { paths, version: "bench", config, adapters, log: logger };

/** The one a daemon has, one in memory, or one in files that says at once that everything is safe. */
function journalOf() {
  if (kind === "memory") return { journal: new MemoryJournal() };
  if (kind !== "unsynced") return {};
  mkdirSync(paths.journal, { recursive: true, mode: 0o700 });
  return { journal: new FileJournal({ dir: paths.journal, disk: unsynced }) };
}

const started = await startDaemon({ ...options, ...journal });
if (started.is !== "started") throw new Error(`the daemon did not start: ${JSON.stringify(started)}`);
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
process.send?.({ rss: process.memoryUsage.rss(), cpu: process.cpuUsage() });
