/** Asks the features that have a say whether an agent may create tasks, or call one done. A person always may. */
import type { Actor } from "../core/actor.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import type { Call } from "../server/call.ts";
import { signOfLife } from "../sessions/commands.ts";
import { decidedBy, noteReply } from "../trail/decisions.ts";
import { type Asking, callerOf } from "./caller.ts";
import { taskGates } from "./points.ts";
import type { Completion, TaskFinding } from "./task-gate.ts";

type GoOn = (warnings: readonly string[]) => Promise<void> | undefined;

/** Goes on with the gates' warnings, or refuses. */
export function beforeCreation(
  services: HookServices,
  request: Asking,
  call: Call,
  goOn: GoOn,
): Promise<void> | undefined {
  return ask(
    services,
    request,
    call,
    null,
    by => taskGates.map(gate => gate.beforeCreation?.(services, by)),
    goOn,
  );
}

/** Goes on with the gates' warnings, or refuses. */
export function beforeDone(
  services: HookServices,
  request: Asking,
  call: Call,
  completion: Completion,
  goOn: GoOn,
): Promise<void> | undefined {
  const asked = (by: Actor) => taskGates.map(gate => gate.beforeDone?.(services, by, completion));
  return ask(services, request, call, completion.task, asked, goOn);
}

/** Without anything to ask it goes on at once. */
function ask(
  services: HookServices,
  request: Asking,
  call: Call,
  task: string | null,
  asked: (by: Actor) => readonly (Promise<TaskFinding> | null | undefined)[],
  goOn: GoOn,
): Promise<void> | undefined {
  const by = callerOf(services, request, call);
  const findings = by === null ? [] : asked(by).filter(one => one !== null && one !== undefined);
  if (by === null || findings.length === 0) return goOn([]);
  return Promise.all(findings).then(all => {
    const about = task === null ? {} : { task };
    const held = all.find(({ refusal }) => refusal !== null);
    if (held?.refusal != null) {
      if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
      const { refusal, line } = held;
      const told = line === null ? refusal : { ...refusal, error: line.why };
      noteReply(services, call.type, by, told, {
        ...about,
        ...(line?.rule === undefined ? {} : { rule: line.rule }),
      });
      call.reply(refusal);
      return undefined;
    }
    for (const { line } of all) {
      if (line === null) continue;
      const who = { ...about, ...decidedBy(services, by), event: call.type, type: call.type, file: null };
      services.recorder.note({ ...who, ...line, decision: "note" });
    }
    return goOn(all.flatMap(({ warnings }) => warnings));
  });
}
