/** Whether machines show what agents declared, and nothing else; and whether those are told whose files overlap. */
import { apply } from "../../daemon/core/apply.ts";
import { nodeOf, ownIdOf } from "../../daemon/core/nodes/shared-ids.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import { noteKey } from "../../daemon/core/tables/messages.ts";
import type { Message } from "../end-to-end/daemon.ts";
import { type Declarations, type DeclaringAgent, textOfFiles } from "./declarations.ts";
import { type Machine, within } from "./machines.ts";
import type { SharedLog } from "./shared-log.ts";

/** More rows than a history makes. */
const limit = 1_000;

/** A declaration that a machine shows. */
interface Shown {
  readonly node: string;
  readonly session: string;
  readonly agent: string | null;
  readonly text: string;
}

/**
 * Waits until each machine shows what holds of all agents; returns sentences on what differs for longer than `ms`. `former`: ids
 * that machines had, whose sessions may be lost.
 */
export async function declarationFaults(
  machines: readonly Machine[],
  { agents }: Declarations,
  ms: number,
  former: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  let wrong: string[] = [];
  const isSame = async () => {
    const each = await Promise.all(machines.map(machine => differencesAt(machine, agents, former)));
    wrong = each.flat();
    return wrong.length === 0;
  };
  await within(isSame, ms);
  return wrong;
}

async function differencesAt(
  machine: Machine,
  agents: readonly DeclaringAgent[],
  former: ReadonlySet<string>,
): Promise<string[]> {
  const wrong: string[] = [];
  const left = new Map<string, string[]>();
  for (const { node, session, agent, text } of await shownAt(machine))
    if (!former.has(node)) {
      const key = keyOf(node, session, agent);
      left.set(key, [...(left.get(key) ?? []), text]);
    }
  for (const one of agents) {
    const key = keyOf(one.speaker.machine.node, one.speaker.id, one.agent);
    const [texts, shown] = [one.texts(), left.get(key) ?? []];
    left.delete(key);
    const isRight = shown.length < 2 && texts.includes(shown[0] ?? null);
    const nothing = "nothing, or has ended";
    if (!isRight)
      wrong.push(
        `machine ${machine.index} shows of ${one.name} ${shown.join(" and ") || "nothing"}, which declared ${texts.map(text => text ?? nothing).join(" or ")}`,
      );
  }
  for (const [key, texts] of left)
    wrong.push(`machine ${machine.index} shows a declaration of nobody: ${JSON.stringify(key)} ${texts}`);
  return wrong;
}

async function shownAt(machine: Machine, target = "declarations"): Promise<Shown[]> {
  const client = await machine.connect();
  const reply = await client.ask({ type: "query", target, project: machine.clone, limit });
  client.destroy();
  const rows = Array.isArray(reply["rows"]) ? (reply["rows"] as readonly Message[]) : [];
  return rows.map(({ id, agent, task, files }) => {
    const seen = (files as readonly { readonly path: string; will: string; touched: boolean }[]).map(
      file => ({
        ...file,
        path: file.path.replace(`${machine.clone}/`, ""),
      }),
    );
    return {
      node: nodeOf(String(id)) ?? machine.node,
      session: ownIdOf(String(id)) ?? String(id),
      agent: agent === null ? null : String(agent),
      text: textOfFiles(String(task), seen),
    };
  });
}

function keyOf(node: string, session: string, agent: string | null): string {
  return [node, session, agent ?? ""].join("\n");
}

/** Yields what the log was told of an agent that it never declared, or that it had declared before what the log had already. */
export function* faultsOfToldDeclarations(
  { entries }: SharedLog,
  machines: readonly Machine[],
  { agents }: Declarations,
): Generator<string> {
  const known = new Map(
    agents.map(one => [keyOf(one.speaker.machine.node, one.speaker.id, one.agent), one] as const),
  );
  const latest = new Map<DeclaringAgent, number>();
  const state = emptyState();
  for (const entry of entries) {
    const { command, origin } = entry;
    apply(state, entry);
    if (command.type !== "relayed" || command.command.type !== "actor_part") continue;
    const { session, agent } = command.command;
    const declaration = state.declarations.live.get(noteKey({ session, agent }));
    if (declaration === undefined || !machines.some(({ node }) => node === origin.node)) continue;
    const one = known.get(keyOf(origin.node, ownIdOf(session) ?? "", agent));
    const text = textOfFiles(declaration.task, declaration.files);
    const place = one?.ever.get(text);
    if (one === undefined || place === undefined)
      yield `entry ${entry.seq} says that ${one?.name ?? session} declared ${text}, which it never did`;
    else if (place < (latest.get(one) ?? 0))
      yield `entry ${entry.seq} says that ${one.name} declared ${text}, which was over`;
    else latest.set(one, place);
  }
}

/** Has agents of three machines declare one file, strike it off, and end; yields who is not told, or is told too much. */
export async function* faultsOfOverlaps(
  machines: readonly Machine[],
  declarations: Declarations,
  ms: number,
): AsyncGenerator<string> {
  const [first, second, third] = machines.map(machine =>
    declarations.agents.find(
      ({ speaker, agent, hasEnded }) =>
        speaker.machine === machine && agent === null && !hasEnded && speaker.id.startsWith("declarer"),
    ),
  );
  if (first === undefined || second === undefined || third === undefined)
    throw new Error("a machine has nobody who declares");
  const declare = async (agent: DeclaringAgent, file: string) => {
    const will = declarations.will(agent);
    const { reply } = await agent.declare({ task: declarations.task(), wills: new Map([[file, will]]) });
    return { will, overlaps: JSON.stringify(reply?.["overlaps"]) };
  };
  const told = new Map<DeclaringAgent, string[]>([first, second].map(one => [one, []]));
  const prompt = async (agent: DeclaringAgent) => {
    const reply = await agent.speaker.hookUntilHeard({
      hook_event_name: "UserPromptSubmit",
      prompt: "go on",
    });
    told.get(agent)?.push(...declarations.told(agent, String(reply["output"] ?? "")));
  };
  const [one, two] = [await declare(first, "quiet.ts"), await declare(second, "quiet.ts")];
  for (const [agent, will] of [
    [first, two.will],
    [second, one.will],
  ] as const) {
    const isTold = async () => {
      await prompt(agent);
      return told.get(agent)?.includes(will) === true;
    };
    if (!(await within(isTold, ms))) yield `${agent.name} was not told of ${will}, which overlaps`;
    await prompt(agent);
    const count = told.get(agent)?.filter(each => each === will).length ?? 0;
    if (count > 1) yield `${agent.name} was told of ${will} ${count} times`;
  }
  const { will } = await declare(third, "quiet-3.ts");
  for (const fault of await declarationFaults(machines, declarations, ms)) yield fault;
  const { overlaps } = await declare(first, "quiet-3.ts");
  if (!overlaps.includes(will)) yield `${first.name} did not hear of ${will}, which its machine shows`;
  await third.declare({ task: declarations.task(), wills: new Map(), drops: ["quiet-3.ts"] });
  for (const fault of await declarationFaults(machines, declarations, ms)) yield fault;
  await prompt(first);
  if (told.get(first)?.includes(will) === true)
    yield `${first.name} was told of ${will}, which was struck off before`;
  yield* faultsOfEnd(machines, declarations, third, ms);
}

/** Ends the agent's session; yields which machine shows its declaration still, or has none of it among those that ended. */
async function* faultsOfEnd(
  machines: readonly Machine[],
  declarations: Declarations,
  ending: DeclaringAgent,
  ms: number,
): AsyncGenerator<string> {
  const { speaker } = ending;
  const [text] = ending.texts();
  speaker.hasEnded = true;
  await speaker.ask({ type: "deregister" });
  speaker.close();
  for (const fault of await declarationFaults(machines, declarations, ms)) yield fault;
  for (const machine of machines) {
    const ended = await shownAt(machine, "declarations_ended");
    if (!ended.some(one => one.session === speaker.id && one.text === text))
      yield `machine ${machine.index} has not ${text} of ${ending.name} among the declarations that ended`;
  }
}
