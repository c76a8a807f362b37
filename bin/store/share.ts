/** `kite store share`: shares the project of the working directory, after a question. */
import type { CopyNotes, StoreShareReply } from "../../protocol/schemas/store.ts";
import { type AskPerson, isYes, refuseAgent } from "../context/person.ts";
import { type Client, type ProcessContext, print, printJson, screenOf } from "../context/process-context.ts";
import { asPerson, exitCodes, fail, granted, ask as request } from "../context/with-daemon.ts";
import { tilde } from "../view/places.ts";
import { clean, counted, listed, wrap } from "../view/text.ts";

export interface StoreFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly dryRun?: boolean;
}

/** A copy of many tasks takes a while. */
export const copyTimeoutMs = 600_000;

/** Returns the exit code. `ask` is null without a terminal. */
export async function share(
  world: ProcessContext,
  flags: StoreFlags,
  ask: AskPerson | null,
): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "store");
  if (refused !== null) return refused;
  return asPerson(world, json, client => shareHere(world, client, flags, ask), { name: "kite store" });
}

async function shareHere(
  world: ProcessContext,
  client: Client,
  { yes = false, json = false, dryRun = false }: StoreFlags,
  ask: AskPerson | null,
): Promise<number> {
  const { cwd } = world;
  const before = await request(client, "store_share", { cwd, dryRun: true });
  if (dryRun && json) return done(world, before);
  if (!json) say(world, plan(world, before));
  if (dryRun) return exitCodes.done;
  if (!yes) {
    if (ask === null || json)
      return fail(world, json, "usage", "share asks at a terminal; to answer beforehand: --yes");
    if (!isYes(await ask(`Share it? ${before.wasShared ? "What is left here moves. " : ""}[y/N] `))) {
      print(world, ["Nothing is shared that was not."]);
      return exitCodes.failed;
    }
  }
  const shared = granted<StoreShareReply>(
    await client.request("store_share", { cwd, as: before.as }, { timeoutMs: copyTimeoutMs }),
  );
  if (json) return done(world, shared);
  const { as, tasks, context } = shared;
  say(world, [
    `Shared as ${clean(as)}: ${counts(tasks, context)} moved there. Machines that do not share it yet run kite store share in their clone.`,
    ...noteLines(shared),
  ]);
  return exitCodes.done;
}

function plan(world: ProcessContext, { project, as, wasShared, tasks, context, unread }: StoreShareReply) {
  const where = clean(tilde(project, screenOf(world).home));
  return [
    `${where} is ${wasShared ? "shared" : "known"} to the other machines as ${clean(as)}`,
    wasShared
      ? `Still on this machine alone: ${counts(tasks, context)}.`
      : `What moves to the store: ${counts(tasks, context)}. All who have its password read them, and what comes after them.`,
    "Tasks that are done, files, locks and paths stay on this machine.",
    ...(unread === 0
      ? []
      : [`${counted(unread, "message")} that nobody has read yet ${unread === 1 ? "is" : "are"} read here.`]),
  ];
}

export function counts(tasks: number, context: number): string {
  return `${counted(tasks, "open task")} and ${counted(context, "durable context key")}`;
}

/** Returns what a person has to know of a copy. */
export function noteLines({
  numbers,
  keys,
  released,
  leftOut,
  returns = [],
  more = {},
}: CopyNotes): string[] {
  const projects = [...new Set(numbers.map(({ project }) => project))];
  const aside = keys.map(({ key, as }) => `${key} as ${as}`);
  const lost = leftOut.map(({ number, fields, kept = [] }) => {
    const texts = kept.length === 0 ? "" : `; yours is kept as ${kept.join(", ")}`;
    return `#${number} (${fields.join(", ")}${texts})`;
  });
  const again = returns.map(one => ("key" in one ? `key ${one.key}` : `#${one.number}`));
  return [
    ...projects.map((project, i) => {
      const rows = numbers.filter(row => row.project === project);
      const moved = rows.map(({ before, after }) => `#${before} is #${after} now`);
      const where = project === undefined ? "" : ` in ${project}`;
      const besides = i === projects.length - 1 ? more.numbers : 0;
      return `Tasks with another number${where}: ${some(moved, besides)}.`;
    }),
    ...(aside.length === 0
      ? []
      : [`Keys that had another value there: yours is kept: ${some(aside, more.keys)}.`]),
    ...(released.length === 0
      ? []
      : [`Your agents work on these no longer: ${some(released, more.released)}.`]),
    ...(leftOut.length === 0
      ? []
      : [
          `Changed here, and not taken over, since the store changed it too or refused it: ${some(lost, more.leftOut)}. Look at them: kite task show NUMBER, kite context get KEY`,
        ]),
    ...(again.length === 0
      ? []
      : [
          `The store did not have these any more, and Kite brought them back: ${some(again, more.returns)}. If somebody removed them on purpose, do so again: kite task cancel NUMBER, kite context rm KEY`,
        ]),
  ].map(clean);
}

const shownMax = 10;

/** `more`: how many there are besides. */
function some(words: readonly string[], more = 0): string {
  return listed(words.slice(0, shownMax), Math.max(0, words.length - shownMax) + more);
}

export function say(world: ProcessContext, lines: readonly string[]): void {
  print(
    world,
    lines.flatMap(line => wrap(line, screenOf(world).width)),
  );
}

function done(world: ProcessContext, reply: object): number {
  printJson(world, reply);
  return exitCodes.done;
}
