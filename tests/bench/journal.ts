/** What it costs to put locks and unlocks into the journal: batches in the short form, and a line of JSON an entry. */
import { ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { BatchEncoder, type Encoder } from "../../daemon/journal/batch.ts";
import { LineEncoder } from "../journal/line-encoder.ts";
import { lockTerms } from "../lock-terms.ts";
import { ratio } from "./measure.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { sessionId } from "./wire-words.ts";

const rounds = 7;
const entriesPerRound = 20_000;
const cwd = "/home/someone/project";
const refs = Array.from({ length: 64 }, (_, n) => {
  const file = `src/part-${n % 10}/file-${n}.ts`;
  return { file, lexical: `${cwd}/${file}`, key: `local:${cwd}/${file}`, dir: false };
});

/** A lock if `n` is odd, an unlock if it is even. */
function entryOf(n: number): Entry {
  const actor = { session: sessionId(n % 100), agent: null, incarnation: 0 };
  const files = refs.slice(n % refs.length, (n % refs.length) + 1);
  const origin = { node: "local", epoch: 1, n };
  const place = { project: "default", cwd, wallMs: 1_795_403_742_909 };
  const command =
    n % 2 === 0
      ? ({ type: "lock_release", actor, files } as const)
      : ({ type: "lock_request", actor, files, ...lockTerms, ...place } as const);
  return { seq: n, at: 1_795_403_742_909, origin, command };
}

/** Microseconds of processor time for an entry, with its share of the write. */
function cost(encoder: Encoder, fd: number, batches: readonly (readonly Entry[])[]): number {
  const before = process.cpuUsage();
  for (const batch of batches) {
    encoder.begin();
    for (const entry of batch) encoder.add(entry, Number.POSITIVE_INFINITY);
    writeSync(fd, encoder.end());
  }
  const { user, system } = process.cpuUsage(before);
  ftruncateSync(fd, 0);
  return (user + system) / entriesPerRound;
}

export async function* journal(): Tables {
  const dir = mkdtempSync(join(tmpdir(), "kite-bench-"));
  const fd = openSync(join(dir, "segment"), "a");
  const [short, lines] = [new BatchEncoder(), new LineEncoder()];
  try {
    for (const size of [1, 16, 100]) {
      const samples = { short: [] as number[], lines: [] as number[] };
      for (let round = 0; round <= rounds; round += 1) {
        const batches = Array.from({ length: entriesPerRound / size }, (_, b) =>
          Array.from({ length: size }, (_, i) => entryOf(b * size + i)),
        );
        const [a, b] = [cost(short, fd, batches), cost(lines, fd, batches)];
        // The first round is for the compilers.
        if (round === 0) continue;
        samples.short.push(a);
        samples.lines.push(b);
      }
      yield table(`a lock or unlock in the journal, ${size} a write, processor time, ${rounds} rounds`, [
        plain("a line of JSON each", samples.lines, " us"),
        plain("one line of short records", samples.short, " us"),
        figure("short records / JSON", ratio(samples.short, samples.lines), {
          atMost: size === 1 ? 1 : 0.4,
        }),
      ]);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
