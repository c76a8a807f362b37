/**
 * Where Kite only observes, a hook's event passes through here on its way in and on its way out.
 *
 * Invariants: no client waits for another agent, and no answer carries words, whatever its plan and its outcomes are. What
 * Kite would have done goes to the trail: a wait, a denial, or words for an agent. Nothing counts as told, and each lock has
 * one holder: an edit that would have waited goes ahead without it.
 */

import { createHash } from "node:crypto";
import type { HookContext, HookPlan } from "../../hooks/seam/plan.ts";
import { actionTraits, type HookAction, type HookOutcome } from "../../hooks/seam/slices.ts";
import type { Code } from "../../protocol/codes.ts";
import { isObject } from "../../protocol/wire.ts";
import type { Inward, MountView } from "../facts/mounts.ts";
import { actorOf } from "../sessions/proposals.ts";
import { decidedBy } from "../trail/decisions.ts";
import type { ObservedRecorder } from "../trail/trail.ts";
import type { HookServices } from "./parts.ts";

type Words = ReturnType<HookPlan["answer"]>;

/** The services for an event that Kite only observes. */
type ObservingServices = HookServices & { readonly recorder: ObservedRecorder };

/** Returns the services with which the event is only observed. */
export function observing(services: HookServices): ObservingServices {
  return { ...services, observes: true, recorder: services.recorder.observing() };
}

/** Returns the plan without actions that wait only to tell what came of it. */
export function observedPlan(plan: HookPlan): HookPlan {
  const actions = plan.actions.filter(({ do: name }) => {
    const { waits, tells } = actionTraits[name];
    return !waits || tells !== "only";
  });
  return { ...plan, actions };
}

/** Says of a refused lock that Kite would have waited for it: somebody holds it, and the event may wait. */
export function wouldWait(
  { observes }: Pick<HookServices, "observes">,
  code: Code,
  waitMs: number,
): { readonly would?: "wait" } {
  return observes && code === "lock_held" && waitMs > 0 ? { would: "wait" } : {};
}

/** Returns what the client gets in place of the words, and notes those that Kite would have said. */
export function silenced(
  services: ObservingServices,
  plan: HookPlan,
  outcomes: readonly HookOutcome[],
  words: Words,
): Words {
  const { output, exitCode = 0, stderr = "", env } = words;
  if (output !== "" || exitCode !== 0 || stderr !== "") noteWords(services, plan, outcomes, words);
  return env === undefined ? { output: "" } : { output: "", env };
}

/** A wait or a denial has a line of its own, from the rule that decided it. */
function noteWords(
  services: ObservingServices,
  plan: HookPlan,
  outcomes: readonly HookOutcome[],
  words: Words,
): void {
  const { recorder, notedDecisions } = services;
  const { session, agent, event, file } = plan;
  const isFirst = notedDecisions.isFirst(plan, "words");
  if (recorder.hasHeld || session === null || !isFirst) return;
  const isDenied =
    plan.refuses !== undefined || outcomes.some(one => "verdict" in one && one.verdict === "deny");
  if (!isDenied && !isNews(services, plan, words)) return;
  const actor = actorOf(services, session, agent, null);
  const why = plan.refuses === undefined ? {} : { why: plan.refuses.why };
  const rule = plan.refuses?.rule ?? ruleOf(outcomes) ?? event;
  const line = { ...decidedBy(services, actor), event, type: plan.tool, file, rule, ...why };
  recorder.note({ ...line, decision: "note", would: isDenied ? "deny" : "tell" });
}

/** What the words are about: the first outcome that has something to say, in the names that the trail has for rules. */
function ruleOf(outcomes: readonly HookOutcome[]): string | null {
  for (const outcome of outcomes) {
    if (!outcome.ok) return "failure";
    if (outcome.did === "inbox" && outcome.messages.length > 0) return "message";
    if (outcome.did === "inbox" && (outcome.health?.length ?? 0) > 0) return "health";
    if ((outcome.did === "inbox" || outcome.did === "notes") && (outcome.notes?.length ?? 0) > 0)
      return "notice";
    if ("verdict" in outcome && outcome.verdict !== "allow") return ruleNames.get(outcome.did) ?? "gate";
  }
  return outcomes.some(({ did }) => did === "list_peers") ? "peers" : null;
}

const ruleNames: ReadonlyMap<HookOutcome["did"], string> = new Map([
  ["lock", "lock"],
  ["guard", "guard"],
  ["plain_files", "guard"],
  ["check_own_files", "own_files"],
]);

/** Whether the words differ from the last ones that this agent did not get with such an event. */
function isNews({ unsaid }: ObservingServices, { session, agent, event }: HookPlan, words: Words): boolean {
  const key = `${session}\n${agent ?? ""}\n${event}`;
  const digest = createHash("sha256").update(JSON.stringify(words)).digest("base64");
  if (unsaid.get(key) === digest) return false;
  unsaid.set(key, digest);
  return true;
}

// Makes the paths of a plan from a container those of this machine, and those of its answer the container's again.

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
