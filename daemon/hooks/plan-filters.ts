/**
 * Where Kite only observes, a hook's event passes through here on its way in and on its way out.
 *
 * Invariants: no client waits for another agent, and no answer carries words, whatever its plan and its outcomes are. What
 * Kite would have done goes to the trail: a wait, a denial, or words for an agent. Nothing counts as told, and each lock has
 * one holder: an edit that would have waited goes ahead without it.
 */

import { createHash } from "node:crypto";
import type { HookAdapter, HookContext, HookPlan } from "../../hooks/seam/plan.ts";
import { actionTraits, type HookAction, type HookOutcome } from "../../hooks/seam/slices.ts";
import type { Code } from "../../protocol/codes.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { isObject } from "../../protocol/wire.ts";
import type { BoundedMap } from "../bounded-map.ts";
import { isOff } from "../config/off-switch.ts";
import type { Facts } from "../facts/facts.ts";
import { confined, type Inward, type MountView } from "../facts/mounts.ts";
import { decidedBy } from "../trail/decisions.ts";
import { ObservedRecorder } from "../trail/trail.ts";
import type { Answer, HookEvent, Words } from "./event.ts";
import type { Needs } from "./parts.ts";

/** Leaves out the actions that wait only to tell what came of it. */
export function leaveOutTelling(event: HookEvent): undefined {
  const isOnlyTelling = ({ waits, tells }: (typeof actionTraits)[HookAction["do"]]) =>
    waits && tells === "only";
  const actions = event.plan.actions.filter(action => !isOnlyTelling(actionTraits[action.do]));
  event.plan = { ...event.plan, actions };
}

/** Says of a refused lock that Kite would have waited for it: somebody holds it, and the event may wait. */
export function wouldWait(
  { observes }: Pick<HookEvent, "observes">,
  code: Code,
  waitMs: number,
): { readonly would?: "wait" } {
  return observes && code === "lock_held" && waitMs > 0 ? { would: "wait" } : {};
}

/** Writes the line of a step that the adapter itself refuses. Where Kite only observes, the words that it would say have one. */
export function noteRefused(event: HookEvent, _: Answer, { calls }: Needs<"calls">): undefined {
  const { session, agent, event: name, tool: type, file, refuses } = event.plan;
  if (refuses === undefined) return;
  const { rule, why } = refuses;
  if (!calls.decisions.isFirst(event.plan, rule)) return;
  const actor = session === null ? null : event.actor({ session, agent });
  event.recorder.note({ ...decidedBy(event, actor), event: name, type, file, decision: "deny", rule, why });
}

/** Takes the words away, and notes those that Kite would have said. */
export function silence(event: HookEvent, answer: Answer, parts: Needs<"entry" | "calls">): undefined {
  const { output, exitCode = 0, stderr = "", env } = answer.words;
  if (output !== "" || exitCode !== 0 || stderr !== "") noteWords(event, answer, parts);
  answer.words = env === undefined ? { output: "" } : { output: "", env };
}

/** A wait or a denial has a line of its own, from the rule that decided it. */
function noteWords(
  event: HookEvent,
  { outcomes, words }: Answer,
  { entry, calls }: Needs<"entry" | "calls">,
): void {
  const { plan, recorder } = event;
  const { session, agent, event: name, file, refuses } = plan;
  const isFirst = calls.decisions.isFirst(plan, "words");
  const hasLine = recorder instanceof ObservedRecorder && recorder.hasHeld;
  if (hasLine || session === null || !isFirst) return;
  const isDenied = refuses !== undefined || outcomes.some(one => "verdict" in one && one.verdict === "deny");
  if (!isDenied && !isNews(entry.unsaid, plan, words)) return;
  const actor = event.actor({ session, agent });
  const why = refuses === undefined ? {} : { why: refuses.why };
  const rule = refuses?.rule ?? ruleOf(outcomes) ?? name;
  const line = { ...decidedBy(event, actor), event: name, type: plan.tool, file, rule, ...why };
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
function isNews(
  unsaid: BoundedMap<string, string>,
  { session, agent, event }: HookPlan,
  words: Words,
): boolean {
  const key = `${session}\n${agent ?? ""}\n${event}`;
  const digest = createHash("sha256").update(JSON.stringify(words)).digest("base64");
  if (unsaid.get(key) === digest) return false;
  unsaid.set(key, digest);
  return true;
}

/** Whether `kite off` applies to the event's session or to its directories. */
export function isOffFor(
  { plan: { session }, view, engine, clock }: HookEvent,
  { event: { cwd } }: RequestOf<"hook">,
  { config }: Needs<"config">,
): boolean {
  const here = typeof cwd === "string" && view !== null ? view.inward(cwd) : cwd;
  const known = session === null ? undefined : engine.state.sessions.live.get(session);
  const places = [here, known?.project, known?.worktree].filter(place => typeof place === "string");
  return isOff(config.offSwitches.read(), { session, places }, clock.wall());
}

// Makes the paths of a plan from a container those of this machine, and those of its answer the container's again.

/** The fields of actions that hold paths, at any depth. */
const named: ReadonlySet<string> = new Set(
  (
    "cwd file files moreFiles whole overwrites parentFile dir stays gitDir workTree paths over elsewhere path from to " +
    "worktree folder"
  ).split(" "),
);

/** Asks the adapter for the plan of an event from a container: its answer is for the container, whatever its links lead to here. */
export function planInView(
  { path }: Facts,
  view: MountView,
  adapter: HookAdapter,
  event: RequestOf<"hook">["event"],
  context: HookContext,
): Promise<HookPlan> {
  const plan = adapter.plan(event, inwardContext(view, context));
  return confined(view, path, names => inwardPlan(view, plan, names));
}

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
