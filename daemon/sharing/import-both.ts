/** An import of tasks that belong to two logs. */
import type { TaskImportReply } from "../../protocol/schemas/task.ts";
import type { CommandOf, Reply } from "../core/tables/entries.ts";
import type { Caller } from "../engine/answers.ts";
import type { Log } from "../engine/engine.ts";

type TaskImport = CommandOf<"task_import"> & { readonly type: "task_import" };

/** Imports into the shared log, then into the own one: what is there already is skipped, so that a repeat may do so again. */
export function importBoth(
  log: Pick<Log, "submit">,
  command: TaskImport,
  { there, here }: { readonly there: TaskImport["tasks"]; readonly here: TaskImport["tasks"] },
  caller: Caller,
): number {
  return log.submit(
    { ...command, tasks: there },
    {
      ...caller,
      answer: first => {
        if (!first.ok) return caller.answer(first);
        const answer = (second: Reply) => caller.answer(second.ok ? bothImported(first, second) : second);
        log.submit({ ...command, tasks: here }, { ...caller, answer });
      },
    },
  );
}

/** Returns the reply to an import whose tasks went into two logs. */
function bothImported(first: Reply, second: Reply): Reply {
  const [a, b] = [first as unknown as TaskImportReply, second as unknown as TaskImportReply];
  return {
    ok: true,
    imported: a.imported + b.imported,
    skipped: [...a.skipped, ...b.skipped],
    debatesDropped: [...a.debatesDropped, ...b.debatesDropped],
  } satisfies TaskImportReply;
}
