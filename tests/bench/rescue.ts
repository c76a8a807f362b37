/** What keeping the agents' work costs: many versions read, listed and pruned without a stall. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonServices } from "../../daemon/requests/handler.ts";
import { Archive } from "../../daemon/rescue/archive.ts";
import { IndexFile } from "../../daemon/rescue/index-file.ts";
import { recordOf } from "../../daemon/rescue/records.ts";
import { rescueTargets } from "../../daemon/rescue/rows.ts";
import { ContentStore, hashOf } from "../../daemon/rescue/store.ts";
import { Turns } from "../../daemon/server/turns.ts";
import { page, placeIn } from "../../daemon/views/paging.ts";
import { limits } from "../../protocol/limits.ts";
import { figure, plain, type Tables, table } from "./report.ts";

const versions = 100_000;
const files = 5_000;
const contents = 2_000;
const dayMs = 24 * 3_600_000;

export async function* rescue(): Tables {
  const dir = mkdtempSync(join(tmpdir(), "kite-bench-rescue-"));
  try {
    yield await manyVersions(join(dir, "many"));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function manyVersions(dir: string) {
  const nowMs = 100 * dayMs;
  await writeMany(dir, nowMs);
  const archive = new Archive({
    dir,
    wall: () => nowMs,
    dirtyPaths: () => new Set(),
    onTrouble: message => {
      throw new Error(message);
    },
    bounds: { bytesMax: 1e12, versionsMax: versions / 2, keptMs: 14 * dayMs },
  });
  const read = await stallOf(() => archive.open());
  const listed = await stallOf(() => list(archive));
  const before = archive.versions.size;
  const pruned = await stallOf(async () => void (await archive.prune()));
  const gone = before - archive.versions.size;
  await archive.close();
  return table(`${versions.toLocaleString("en")} versions of ${files.toLocaleString("en")} files`, [
    plain("read at a start", read.ms, " ms"),
    figure("longest stall meanwhile", read.stallMs, { atMost: 50 }, " ms"),
    plain("listed, in pages of 1,000", listed.ms, " ms"),
    figure("longest stall meanwhile", listed.stallMs, { atMost: 50 }, " ms"),
    plain(`${gone.toLocaleString("en")} of them pruned`, pruned.ms, " ms"),
    figure("longest stall meanwhile", pruned.stallMs, { atMost: 50 }, " ms"),
  ]);
}

async function writeMany(dir: string, nowMs: number): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const store = new ContentStore(dir);
  await store.open();
  const stored: { readonly hash: string; readonly storedBytes: number; readonly sizeBytes: number }[] = [];
  for (let n = 0; n < contents; n += 1) {
    const content = Buffer.from(`content ${n}\n`.repeat(20));
    const hash = await hashOf(content);
    stored.push({ hash, storedBytes: await store.put(hash, content), sizeBytes: content.length });
  }
  function* records() {
    for (let i = 0; i < versions; i += 1) {
      const [file, content] = [`src/part-${i % 97}/file-${i % files}.ts`, stored[i % contents]];
      if (content === undefined) throw new Error("no content");
      yield recordOf({
        ...content,
        n: i + 1,
        path: `/w/shop/${file}`,
        file,
        worktree: "/w/shop",
        project: "/w/shop",
        by: { session: `s${i % 8}`, agent: null, name: `agent-${i % 8}` },
        tool: "Edit",
        kind: "write",
        atMs: nowMs - (versions - i) * 10_000,
        base: "0".repeat(40),
        mode: 0o644,
        added: 3,
        taken: 1,
        asSent: false,
      });
    }
  }
  const index = new IndexFile(join(dir, "index"));
  await index.rewrite(records());
  await index.close();
}

/** Reads all rows as a client does that asks for page after page. */
async function list(archive: Archive): Promise<void> {
  const turns = new Turns();
  const services = {
    rescue: { archive, settled: async () => {} },
    engine: { state: { sessions: { live: new Map() } } },
    facts: null,
  };
  let from = null;
  for (;;) {
    const rows = await rescueTargets.versions.open(services as unknown as DaemonServices, { from });
    const wanted = { wanted: () => true, from, max: limits.rowsMax };
    const text = await turns.make({ isClosed: false }, page(rows(), wanted));
    const { next } = JSON.parse(text ?? "{}") as { readonly next?: string };
    if (next === undefined) return;
    const place = placeIn(next);
    if (place === "nowhere") throw new Error(`${next} is no place`);
    from = place;
  }
}

/**
 * How long it takes, and the most processor time meanwhile between two turns of the event loop: what else runs on the machine
 * makes a turn longer, and is no stall of this process.
 */
async function stallOf(
  work: () => Promise<void>,
): Promise<{ readonly ms: number; readonly stallMs: number }> {
  let stallMs = 0;
  let last = processorMs();
  let isOver = false;
  const turn = () => {
    const now = processorMs();
    stallMs = Math.max(stallMs, now - last);
    last = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  turn();
  isOver = true;
  return { ms, stallMs };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
