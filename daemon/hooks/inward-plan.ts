/** Makes the paths of a plan from a container those of this machine, and those of its answer the container's again. */
import type { HookContext, HookPlan } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome } from "../../hooks/seam/slices.ts";
import { isObject } from "../../protocol/wire.ts";
import type { Inward } from "../facts/mounts/confined.ts";
import type { MountView } from "../facts/mounts/view.ts";

/** The fields of actions that hold paths, at any depth. */
const named: ReadonlySet<string> = new Set(
  (
    "cwd file files moreFiles whole overwrites parentFile dir stays gitDir workTree paths over elsewhere path from to " +
    "worktree folder"
  ).split(" "),
);

/** Returns what the adapter may know: the container's own paths, and no processes of another namespace. */
export function inwardContext(view: MountView, context: HookContext): HookContext {
  const { CLAUDE_PID, ...env } = context.env;
  const shown = {
    ...context,
    socket: view.outwardPath(context.socket),
    home: view.outwardPath(context.home),
  };
  return view.hidesProcesses ? { ...shown, env, ppid: null } : shown;
}

/** Returns the plan in this machine's paths. The adapter words the answer in the container's. */
export function inwardPlan(view: MountView, plan: HookPlan, names: Inward = view): HookPlan {
  const { answer, tellDenial, file, home, transcript, doing } = plan;
  const shown = (outcomes: readonly HookOutcome[]) => view.outwardAll(outcomes);
  const path = (text: string | null) => (text === null ? null : names.inward(text));
  return {
    ...plan,
    file: path(file),
    home: path(home),
    transcript: path(transcript),
    doing: doing === null ? null : { ...doing, what: names.inward(doing.what) },
    actions: plan.actions.map(action => inwardAction(names, action)),
    answer: outcomes => answer(shown(outcomes)),
    ...(tellDenial === undefined
      ? {}
      : { tellDenial: (outcomes, name) => tellDenial(shown(outcomes), name) }),
  };
}

function inwardAction(names: Inward, action: HookAction): HookAction {
  const cwd = "cwd" in action && action.cwd !== null ? action.cwd : "";
  return inwardValue(names, action, cwd) as HookAction;
}

/** Relative names count from `base`, or from the folder of the command that has them; `isNamed`: a text here is a path. */
function inwardValue(names: Inward, value: unknown, base: string, isNamed = false): unknown {
  if (typeof value === "string")
    return isNamed && !value.startsWith(":") ? names.inwardFrom(base, value) : value;
  if (Array.isArray(value)) return value.map(one => inwardValue(names, one, base, isNamed));
  // What an alias stands for is known later.
  if (typeof value === "function")
    return (...words: readonly unknown[]) => inwardValue(names, value(...words), base);
  if (!isObject(value)) return value;
  const from = typeof value["dir"] === "string" ? value["dir"] : base;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      inwardValue(names, one, key === "dir" || key === "cwd" ? "" : from, named.has(key)),
    ]),
  );
}
