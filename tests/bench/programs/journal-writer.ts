/** Writes a journal of `COUNT` records of locks and unlocks by a hundred sessions, as a daemon would. `DIR COUNT` */

import { mkdirSync } from "node:fs";
import type { FileRef } from "../../../daemon/core/frame/actors.ts";
import type { Command } from "../../../daemon/core/tables/entries.ts";
import { systemClock } from "../../../daemon/engine/clock.ts";
import { Engine } from "../../../daemon/engine/engine.ts";
import { FileJournal } from "../../../daemon/journal/file-journal.ts";
import { lockCommand } from "../../../daemon/sessions/proposals.ts";
import { sessionId } from "../wire-words.ts";

const [, , dir = "", count] = process.argv;
const sessions = 100;
const batch = 1_000;
/** Locks that stay. */
const kept = 10_000;

mkdirSync(dir, { recursive: true, mode: 0o700 });
const clock = systemClock();
const journal = new FileJournal({ dir });
const engine = await Engine.start({
  journal,
  clock,
  node: "local",
  storeId: "bench",
  snapshotEntries: Number.POSITIVE_INFINITY,
  onStep: () => {},
  onTrouble: (message, error) => console.error(message, error),
  onFatal: error => {
    throw error;
  },
});

const cwd = "/home/someone/project";

function ref(n: number): FileRef {
  const file = `src/part-${n % 10}/file-${n}.ts`;
  return { file, lexical: `${cwd}/${file}`, key: `local:${cwd}/${file}`, dir: false };
}

function* commands(): Generator<Command> {
  for (let n = 0; ; n += 1) {
    const actor = { session: sessionId(n % sessions), agent: null, incarnation: 0 };
    const files = [ref(n < kept ? n : kept + (n % kept))];
    const of = { actor, files, single: true, kind: "explicit", waitMs: 0 } as const;
    yield lockCommand({ engine, clock }, of, cwd, undefined);
    if (n >= kept) yield { type: "lock_release", actor, files };
  }
}

const source = commands();
while (engine.state.seq < Number(count)) {
  const some = Array.from({ length: batch }, () => source.next().value).filter(c => c !== undefined);
  await Promise.all(some.map(command => engine.submitAndWait(command)));
}
process.on("SIGINT", () => process.exit());
process.on("disconnect", () => process.exit());
process.send?.({ bytes: journal.health.bytes });
