// Started by full-disk.test.ts where no file system can be mounted: the daemon over a disk that is full when a file says so.

import { closeSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../daemon/config/config.ts";
import { createLog } from "../../daemon/instance/log.ts";
import { type Disk, type DiskFile, nodeDisk } from "../../daemon/journal/disk.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import { startDaemon } from "../../daemon/start.ts";
import { kitePaths } from "../../protocol/paths.ts";

const paths = kitePaths(process.env);
const quotaFile = process.argv[2] ?? "";

/** Bytes that may still be written into the journal's directory. */
function room(): number {
  const quota = Number(readFileSync(quotaFile, "utf8"));
  const used = nodeDisk.list(paths.journal).map(name => nodeDisk.size(join(paths.journal, name)) ?? 0);
  return quota - used.reduce((sum, size) => sum + size, 0);
}

/** As a full disk does it: what does not fit is cut short, and where nothing fits the write throws. */
function limited(file: DiskFile): DiskFile {
  const fitting = (data: string | Buffer): Buffer => {
    const bytes = Buffer.from(data);
    const left = room();
    if (left <= 0 && bytes.length > 0) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    return bytes.subarray(0, left);
  };
  return {
    get size() {
      return file.size;
    },
    append: data => file.append(fitting(data)),
    appendLarge: async data => file.appendLarge(fitting(data)),
    truncate: size => file.truncate(size),
    isAt: (path, bytes) => file.isAt(path, bytes),
    syncData: () => file.syncData(),
    syncAll: () => file.syncAll(),
    close: () => file.close(),
  };
}

const disk: Disk = {
  ...nodeDisk,
  create: path => limited(nodeDisk.create(path)),
  open: path => limited(nodeDisk.open(path)),
};

const config = await loadConfig({ env: process.env, paths });
const { logger: log } = createLog(paths.log);
const journal = new FileJournal({ dir: paths.journal, disk });
const started = await startDaemon({ paths, version: "0.0.0", config, adapters: [], log, journal });
writeSync(3, started.is === "started" ? "ready" : started.is);
closeSync(3);
if (started.is === "started") process.exit((await started.daemon.done) === null ? 0 : 1);
