/**
 * Engine and core over a memory journal with `COUNT` locks held by a hundred sessions. On a message it locks and
 * unlocks other files, a batch at a time, and answers with the microseconds of a command.
 */

import type { FileRef } from "../../../daemon/core/frame/actors.ts";
import type { Command, Reply } from "../../../daemon/core/tables/entries.ts";
import { systemClock } from "../../../daemon/engine/clock.ts";
import { Engine } from "../../../daemon/engine/engine.ts";
import { lockCommand } from "../../../daemon/sessions/proposals.ts";
import { MemoryJournal } from "../../journal/memory-journal.ts";
import { sessionId } from "../wire-words.ts";

const holders = 100;
const commandsPerRun = 50_000;
const batch = 64;
/** Files of the run: as many as a repository where work goes on. */
const files = 1_600;

const cwd = "/home/someone/project";
const clock = systemClock();
const journal = new MemoryJournal();
const engine = await Engine.start({
  journal,
  clock,
  node: "local",
  storeId: "bench",
  // What the journal keeps is thrown away after each run instead.
  snapshotEntries: Number.POSITIVE_INFINITY,
  onStep: () => {},
  onTrouble: (message, error) => console.error(message, error),
  onFatal: error => {
    throw error;
  },
});

function ref(file: string): FileRef {
  const lexical = `${cwd}/${file}`;
  return { file, lexical, key: `local:${lexical}`, dir: false };
}

function lock(session: number, refs: readonly FileRef[]): Command {
  const actor = { session: sessionId(session), agent: null, incarnation: 0 };
  const of = { actor, files: refs, single: refs.length === 1, kind: "explicit", waitMs: 0 } as const;
  return lockCommand({ engine, clock }, of, cwd, undefined);
}

function unlock(session: number, refs: readonly FileRef[]): Command {
  return {
    type: "lock_release",
    actor: { session: sessionId(session), agent: null, incarnation: 0 },
    files: refs,
  };
}

async function all(commands: readonly Command[]): Promise<void> {
  const replies = await Promise.all(commands.map(command => engine.submitAndWait(command)));
  const refused: Reply | undefined = replies.find(reply => !reply.ok);
  if (refused !== undefined) throw new Error(JSON.stringify(refused));
}

async function hold(count: number): Promise<void> {
  for (let from = 0; from < count; from += 1_000) {
    const refs = Array.from({ length: 1_000 }, (_, n) =>
      ref(`held/part-${(from + n) % 997}/file-${from + n}.ts`),
    );
    await all([lock((from / 1_000) % holders, refs)]);
    await forget();
  }
}

async function forget(): Promise<void> {
  await journal.saveSnapshot(engine.state.seq, [Buffer.alloc(0)]);
}

async function run(): Promise<number> {
  const began = performance.now();
  for (let n = 0; n < commandsPerRun; n += batch) {
    const commands: Command[] = [];
    for (let k = 0; k < batch / 2; k += 1) {
      const f = (n / 2 + k) % files;
      const one = [ref(`src/part-${f % 10}/file-${f}.ts`)];
      const session = holders + (f % holders);
      commands.push(lock(session, one), unlock(session, one));
    }
    await all(commands);
  }
  const us = ((performance.now() - began) * 1000) / commandsPerRun;
  await forget();
  return us;
}

await hold(Number(process.argv[2]));
process.on("message", () => void run().then(us => process.send?.(us)));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
process.send?.({ rss: process.memoryUsage.rss() });
