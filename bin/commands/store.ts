/** `kite store` shares tasks, messages and context with other machines through a PostgreSQL: joins, shares, leaves and shows. */

import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { NotRunning } from "../../client/errors.ts";
import { ensureDaemon, stopDaemon } from "../../client/launch.ts";
import { loadConfig } from "../../daemon/config/config.ts";
import { readStoreAddress, type StoreAddress } from "../../daemon/store/address.ts";
import type { JournalAddress } from "../../daemon/store/connection.ts";
import { findSecrets, keepSecret, secretPlaces, storeConnection } from "../../daemon/store/private-files.ts";
import type { StoreLook } from "../../daemon/store/store.ts";
import type {
  CopyNotes,
  ReturnRow,
  StoreLeaveReply,
  StoreNodeRow,
  StoreRow,
  StoreShareReply,
  StoreShowReply,
} from "../../protocol/schemas/store.ts";
import {
  type AskPerson,
  type AskSecret,
  isYes,
  refuseAgent,
  terminalQuestion,
  terminalSecret,
} from "../context/person.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import {
  asPerson,
  atWork,
  exitCodes,
  fail,
  granted,
  printShown,
  Refused,
  reported,
  ask as request,
  withDaemon,
} from "../context/with-daemon.ts";
import { clockSkewMs, lackText, skewText } from "../doctor/shared-store.ts";
import { takeSetting, writeSetting } from "../settings/config.ts";
import { daemonProgram } from "../version.ts";
import { tilde } from "../view/places.ts";
import { minute, pollsText, storelessText, storeText } from "../view/store.ts";
import { clean, counted, duration, listed, type Screen, table, wrap } from "../view/text.ts";

interface StoreFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly dryRun?: boolean;
}

interface LeaveFlags extends StoreFlags {
  readonly away?: boolean;
}

interface Questions {
  readonly ask: AskPerson | null;
  readonly secret: AskSecret | null;
}

// What several subcommands do.

function say(world: ProcessContext, lines: readonly string[]): void {
  print(
    world,
    lines.flatMap(line => wrap(line, screenOf(world).width)),
  );
}

function done(world: ProcessContext, reply: object): number {
  printJson(world, reply);
  return exitCodes.done;
}

/** Returns why nothing may be moved now, or null. */
async function busyText(world: ProcessContext): Promise<string | null> {
  const names = await atWork(world);
  if (names.length === 0) return null;
  const who = clean(listed(names.slice(0, 8), Math.max(0, names.length - 8)));
  return `at work: ${who}; wait until they have answered, and run this again`;
}

/** Stops the daemon if one runs, and starts one; sessions keep what they hold. Throws if that fails. */
async function restartDaemon(world: ProcessContext): Promise<void> {
  const { paths, env } = world;
  try {
    const client = await world.connect({ name: "kite store", reconnect: false });
    const refusal = await stopDaemon(client, true);
    if (refusal !== null) granted(refusal);
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error;
  }
  rmSync(paths.downFile, { force: true });
  const { client } = await ensureDaemon({ paths, daemonProgram, env, name: "kite store" });
  client.close();
}

// Reaches a store before this machine joins it, and says what it is.

const triesMax = 3;

/** A store that answered. */
interface ReachedStore {
  readonly look: StoreLook;
  /** The right password, which a person typed and `keepPassword` keeps; null: a file has it, or none is needed. */
  readonly typed: string | null;
}

/**
 * Looks at the store, and changes nothing. If its server refuses the password that the files have, or they have none, says why, and
 * asks a person for it. Throws `Refused` with what is wrong, and what to do.
 */
async function reachStore(
  world: ProcessContext,
  address: StoreAddress,
  ask: AskSecret | null,
): Promise<ReachedStore> {
  const { paths } = world;
  const connection = storeConnection(address, paths);
  if ("ok" in connection) throw new Refused(connection);
  let typed: string | null = null;
  for (let left = triesMax; ; left -= 1) {
    let isAsked = false;
    const hosts = connection.hosts.map(host => {
      const password = () => {
        isAsked = true;
        return typed ?? host.password();
      };
      return { ...host, password };
    });
    const found = await lookAt({ ...connection, hosts });
    if (!("why" in found)) return { look: found, typed };
    const { why, isOfPassword } = found;
    // Another password mends nothing else, and only a server that asked for one can mean it.
    if (!isOfPassword || !isAsked || ask === null || left === 0) throw unreached(why);
    say(world, typed === null ? fileNotes(address, paths) : ["That is not it."]);
    typed = await ask(`Password of ${address.user} for the store (it is shown nowhere): `);
    if (typed === null || typed === "") throw unreached(why);
  }
}

/** Returns why what the files have does not count, though one of them may have the password. */
function fileNotes(address: StoreAddress, paths: ProcessContext["paths"]): string[] {
  const found = findSecrets(address, secretPlaces(paths));
  if (!found.ok) return [clean(found.error)];
  if (found.from !== null && found.secrets.every(secret => secret !== null))
    return [clean(`The server refuses the password in ${found.from}.`)];
  return found.notes.map(clean);
}

/** Why a store cannot be used now. */
interface NoLook {
  readonly why: string;
  /** Another password may mend it. */
  readonly isOfPassword: boolean;
}

async function lookAt(address: JournalAddress): Promise<StoreLook | NoLook> {
  try {
    const { lookAtStore } = await import("../../daemon/store/store.ts");
    return await lookAtStore(address);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name !== "StoreAway" && error.name !== "StoreUnfit") throw error;
    return { why: error.message, isOfPassword: "isOfPassword" in error && error.isOfPassword === true };
  }
}

/** Keeps a password for the daemon, and makes Kite's directory if there is none. Throws `Refused` with what is in the way. */
function keepPassword({ paths }: ProcessContext, password: string): void {
  const places = secretPlaces(paths);
  mkdirSync(dirname(places.storeSecret), { recursive: true, mode: 0o700 });
  const refusal = keepSecret(places, password);
  if (refusal !== null) throw new Refused(refusal);
}

function unreached(error: string): Refused {
  return new Refused({ ok: false, code: "store_away", error });
}

/** Returns what the store is, in lines. */
function lookLines({ server, tables, isDurable, aheadMs }: StoreLook): string[] {
  const own =
    tables === null
      ? "no tables of Kite yet: they are made now"
      : `Kite's tables of format ${tables.format}, used by ${counted(tables.nodesLately, "machine")} in the last day`;
  return [
    `PostgreSQL ${server}, encoding UTF8, with the rights that Kite needs; ${own}`,
    ...(Math.abs(aheadMs) < clockSkewMs ? [] : [skewText(aheadMs)]),
    ...(isDurable ? [] : ["its server loses what it confirmed if its power fails (fsync is off)"]),
  ];
}

// `kite store join URL`: checks a store, writes the setting, begins the daemon anew, and goes on with the project.

/** Returns the exit code. The questions are null without a terminal. */
async function join(
  world: ProcessContext,
  url: string,
  flags: StoreFlags,
  questions: Questions,
): Promise<number> {
  const json = flags.json === true;
  // The line is not repeated: it may have a password.
  const refused = await refuseAgent(world, json, "store", { line: "kite store join URL" });
  if (refused !== null) return refused;
  return reported(world, json, () => joinStore(world, url, flags, questions));
}

async function joinStore(
  world: ProcessContext,
  url: string,
  flags: StoreFlags,
  { ask, secret }: Questions,
): Promise<number> {
  const { yes = false, json = false } = flags;
  const address = readStoreAddress(url);
  if ("ok" in address) return fail(world, json, address.code, address.error);
  const { env, paths } = world;
  const before = (await loadConfig({ env, paths })).values.store;
  if (before !== "" && before !== address.text)
    return fail(world, json, "other_store", "another store is set; leave that first: kite store leave");
  const busy = await busyText(world);
  if (busy !== null) return fail(world, json, "store_busy", busy);
  const { look, typed } = await reachStore(world, address, json ? null : secret);
  const lack = lackText(look);
  if (lack !== null) return fail(world, json, "store_away", lack);
  if (!json) say(world, [`${address.text}: ${lookLines(look).join("; ")}.`]);
  if (!yes) {
    if (ask === null || json)
      return fail(world, json, "usage", "join asks at a terminal; to answer beforehand: --yes");
    if (!isYes(await ask("Point this machine's daemon at it? Projects are shared one by one. [y/N] "))) {
      print(world, ["Nothing changed."]);
      return exitCodes.failed;
    }
  }
  if (typed !== null) keepPassword(world, typed);
  await writeSetting(world, "store", address.text);
  await restartDaemon(world);
  if (json) {
    printJson(world, { ok: true, store: address.text, look });
    return exitCodes.done;
  }
  say(world, ["The daemon began anew with the store. It shares the projects that you name, and no others:"]);
  return share(world, flags, ask);
}

// `kite store share`: shares the project of the working directory, after a question.

/** A copy of many tasks takes a while. */
const copyTimeoutMs = 600_000;

/** Returns the exit code. `ask` is null without a terminal. */
async function share(world: ProcessContext, flags: StoreFlags, ask: AskPerson | null): Promise<number> {
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
  if (!json) say(world, sharePlan(world, before));
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

function sharePlan(
  world: ProcessContext,
  { project, as, wasShared, tasks, context, unread }: StoreShareReply,
) {
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

function counts(tasks: number, context: number): string {
  return `${counted(tasks, "open task")} and ${counted(context, "durable context key")}`;
}

/** Returns what a person has to know of a copy. */
export function noteLines({
  numbers,
  keys,
  released,
  leftOut,
  returns = [],
  stays = [],
  more = {},
}: CopyNotes): string[] {
  const projects = [...new Set(numbers.map(({ project }) => project))];
  const aside = keys.map(({ key, as }) => `${key} as ${as}`);
  const lost = leftOut.map(({ number, fields }) => `#${number} (${fields.join(", ")})`);
  const named = (one: ReturnRow) => ("key" in one ? `key ${one.key}` : `#${one.number}`);
  const again = returns.map(named);
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
          `Changed here, and not taken over, since the store changed it too or refused it: ${some(lost, more.leftOut)}. Look at them: kite task show NUMBER`,
        ]),
    ...(again.length === 0
      ? []
      : [
          `The store did not have these any more, and Kite brought them back: ${some(again, more.returns)}. If somebody removed them on purpose, do so again: kite task cancel NUMBER, kite context rm KEY`,
        ]),
    ...(stays.length === 0
      ? []
      : [
          `Removed here while this machine was out of the store, which still has them: ${some(stays.map(named), more.stays)}. If nobody needs them: kite task cancel NUMBER, kite context rm KEY`,
        ]),
  ].map(clean);
}

const shownMax = 10;

/** `more`: how many there are besides. */
function some(words: readonly string[], more = 0): string {
  return listed(words.slice(0, shownMax), Math.max(0, words.length - shownMax) + more);
}

// `kite store leave` and `kite store rejoin`: the ways out of a store, and of another home's place in it.

/** Returns the exit code. `ask` is null without a terminal. */
async function leave(world: ProcessContext, flags: LeaveFlags, ask: AskPerson | null): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "store");
  if (refused !== null) return refused;
  let left: StoreLeaveReply | null = null;
  const code = await asPerson(
    world,
    json,
    async client => {
      left = await leaveStore(world, client, flags, ask);
      return left === null ? exitCodes.failed : exitCodes.done;
    },
    { name: "kite store" },
  );
  if (left === null || flags.dryRun === true) return left === null ? code : exitCodes.done;
  const reply: StoreLeaveReply = left;
  return reported(world, json, async () => {
    await takeSetting(world, "store");
    await restartDaemon(world);
    if (json) printJson(world, reply);
    else say(world, leftLines(reply));
    return exitCodes.done;
  });
}

/** Returns what was copied back; null: the person did not confirm it. */
async function leaveStore(
  world: ProcessContext,
  client: Client,
  { yes = false, json = false, dryRun = false, away = false }: LeaveFlags,
  ask: AskPerson | null,
): Promise<StoreLeaveReply | null> {
  const before = await request(client, "store_leave", { dryRun: true, away });
  if (dryRun && json) printJson(world, before);
  if (!json) say(world, leavePlan(world, before, away));
  if (dryRun) return before;
  const busy = await busyText(world);
  if (busy !== null) {
    fail(world, json, "store_busy", busy);
    return null;
  }
  if (!yes) {
    if (ask === null || json) {
      fail(world, json, "usage", "leave asks at a terminal; to answer beforehand: --yes");
      return null;
    }
    if (!isYes(await ask("Leave the store? [y/N] "))) {
      print(world, ["Nothing changed."]);
      return null;
    }
  }
  return granted<StoreLeaveReply>(
    await client.request("store_leave", { away }, { timeoutMs: copyTimeoutMs }),
  );
}

function leavePlan(world: ProcessContext, reply: StoreLeaveReply, away: boolean): string[] {
  const { projects, tasks, context, unread, storeAsOf, leftBefore = false } = reply;
  if (leftBefore)
    return [
      "This machine left the store already. What is left to do: its setting goes, and the daemon begins anew.",
    ];
  const { home, now } = screenOf(world);
  const named = projects.map(({ project, as }) => `${tilde(project, home)} (${as})`);
  return [
    projects.length === 0 ? "No project is shared." : `Shared projects: ${clean(listed(named, 0))}.`,
    storeAsOf === null
      ? "Nothing of the store is known on this machine, as the daemon did not reach it since it began and no copy is left: nothing is copied back."
      : `What is copied back: ${counts(tasks, context)}. The store keeps them for the others, and debates, done tasks and read messages.`,
    ...(unread === 0
      ? []
      : [
          `${counted(unread, "message")} that your agents have not read ${unread === 1 ? "comes" : "come"} along.`,
        ]),
    ...othersLines(reply, "come back as ready"),
    ...(away
      ? [
          `The store is not asked${knownText(storeAsOf, now)}. The others see this machine as away, and its agents' claims stay there until it was silent for its storeGoneMs.`,
        ]
      : []),
  ];
}

/** What would be done twice. */
function othersLines({ others }: StoreLeaveReply, become: string): string[] {
  if (others === undefined) return [];
  const named = others.tasks.slice(0, othersShownMax).map(({ number, agent }) => `#${number} (${agent})`);
  const what = clean(listed(named, others.count - named.length));
  return [
    `Agents of other machines go on with these in the store, and here they ${become}: ${what}. So that nobody does them twice, cancel them here: kite task cancel NUMBER`,
  ];
}

const othersShownMax = 10;

function knownText(asOf: number | null | undefined, now: number): string {
  if (asOf === null) return "";
  return `: this is what the daemon knew of it${asOf === undefined ? "" : ` as of ${minute(asOf, now)}`}`;
}

function leftLines(reply: StoreLeaveReply): string[] {
  const { tasks, context, told, leftBefore = false } = reply;
  const back = leftBefore ? "" : `: ${counts(tasks, context)} are back`;
  return [
    `This machine left the store${back}. The daemon began anew.`,
    ...(told
      ? []
      : [
          "The store does not know it: the others see this machine as away, and its agents' claims there stay until it was silent for its storeGoneMs (an hour, if nobody set it).",
        ]),
    ...noteLines(reply),
    ...othersLines(reply, "are ready, too"),
    "The password stays in store.secret of Kite's directory, if it is there: remove it if you need it no more.",
  ];
}

/** Returns the exit code. */
async function rejoin(
  world: ProcessContext,
  { yes = false, json = false }: StoreFlags,
  ask: AskPerson | null,
): Promise<number> {
  const refused = await refuseAgent(world, json, "store");
  if (refused !== null) return refused;
  if (!yes) {
    if (ask === null || json)
      return fail(world, json, "usage", "rejoin asks at a terminal; to answer beforehand: --yes");
    const question = "Give this directory of Kite a new id? The store sees it as a new machine then. [y/N] ";
    if (!isYes(await ask(question))) {
      print(world, ["Nothing changed."]);
      return exitCodes.failed;
    }
  }
  const code = await asPerson(
    world,
    json,
    async client => {
      const { node } = await request(client, "store_rejoin", {});
      if (json) printJson(world, { ok: true, node });
      return exitCodes.done;
    },
    { name: "kite store" },
  );
  if (code !== exitCodes.done) return code;
  return reported(world, json, async () => {
    await restartDaemon(world);
    if (!json) say(world, ["This home has an id of its own in the store now. The daemon began anew."]);
    return exitCodes.done;
  });
}

// `kite store`: the store, its machines, and the shared projects.

/** Returns the exit code. */
function showStore(world: ProcessContext, json: boolean): Promise<number> {
  return withDaemon(world, json, async client => {
    const reply = await request(client, "store_show", { cwd: world.cwd });
    const { store, nodes, projects, local } = reply;
    return printShown(world, json, { store, nodes, projects, local }, screen => storeLines(reply, screen));
  });
}

function storeLines({ store, nodes, projects, local }: StoreShowReply, screen: Screen): string[] {
  const { home, width } = screen;
  const shared = projects.map(({ project, as }) => `${clean(tilde(project, home))}  ${clean(as)}`);
  if (store === null && projects.length > 0)
    return [...wrap(storelessText, width), ...section("Shared before", shared)];
  if (store === null)
    return wrap("No store is set: this machine shares nothing. To share: kite store join URL", width);
  const here = local.map(({ project, name, why }) =>
    clean(
      name === null
        ? (why ?? "")
        : `${tilde(project, home)} is not shared; its name is ${name}: kite store share`,
    ),
  );
  return [
    ...wrap(headLine(store, screen), width),
    ...section("Machines", nodeTable(nodes, screen)),
    ...section("Shared projects", shared.length === 0 ? ["none: kite store share"] : shared),
    ...section(
      "On this machine alone",
      here.flatMap(line => wrap(line, width - 2)),
    ),
  ];
}

function headLine(store: StoreRow, screen: Screen): string {
  const { where, machine, node } = store;
  const state = storeText(store, screen.now);
  const who = machine === null ? `node ${node.slice(0, 8)}` : `${clean(machine)}, node ${node.slice(0, 8)}`;
  const text = state ?? (store.polls === true ? `open; ${pollsText}` : "open");
  return `${clean(where)}: ${text}. This machine is ${who}`;
}

function nodeTable(nodes: readonly StoreNodeRow[], screen: Screen): string[] {
  const rows = nodes.map(({ machine, isThis, is, renewedAgoMs, version, sessions }) => [
    clean(isThis ? `${machine} (this one)` : machine),
    is === "here" ? "here" : `${is} for ${duration(renewedAgoMs)}`,
    counted(sessions, "session"),
    clean(`Kite ${version}`),
  ]);
  return table(rows, [{ min: 8, max: 40 }, { min: 4 }, { min: 4 }, { min: 4 }], screen, 2);
}

function section(title: string, body: readonly string[]): string[] {
  return body.length === 0 ? [] : ["", title, ...body.map(line => `  ${line.trimStart()}`)];
}

const help = `
Several machines share tasks, messages, context, debates and declarations of a project through a PostgreSQL; files, locks,
the guard and merges stay with their machine. Without a subcommand it shows the store, its machines and the shared projects.
See kite help store.

--json: {"store":{"where", "is", "since", "why", "node", "machine"}|null, "nodes":[...], "projects":[...], "local":[...]}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite store
  $ kite store join postgresql://kite@db.example/kite
  $ kite store share`;

const joinHelp = `
It checks the address, asks for the password if no file has it, says what is there, and asks before it writes the setting and
begins the daemon anew. Then it goes on as kite store share for the project of the working directory. No agent may be at work.
The password is in ~/.pgpass, or in store.secret of Kite's directory, where join keeps what is typed; never in the address.

Exit codes: 0 done, 1 refused, not confirmed or failed.

Example:
  $ kite store join postgresql://kite@db.example/kite`;

const shareHelp = `
Its open tasks and its durable context move to the store under their ids and keys, after a question. A value that the store
has under a key stays there, and yours is kept as KEY@MACHINE. It may run again if it broke off.

--json: {"ok":true, "project", "as", "wasShared", "tasks", "context", "unread", "numbers":[...], "keys":[...], "released":[...], "leftOut":[...], "returns":[...], "stays":[...]}

Exit codes: 0 done, 1 refused, not confirmed or failed, 3 no daemon runs.

Examples:
  $ kite store share
  $ kite store share --dry-run`;

const leaveHelp = `
What is open in the shared projects is copied back, the store is told, the setting goes, and the daemon begins anew. The store
keeps what it has for the others. It may run again if it broke off.

--json: {"ok":true, "projects":[...], "tasks", "context", "unread", "told", "numbers":[...], "keys":[...], "released":[...], "leftOut":[...], "returns":[...], "stays":[...]}

Exit codes: 0 done, 1 refused, not confirmed or failed, 3 no daemon runs.

Examples:
  $ kite store leave
  $ kite store leave --away          # the store is gone for good`;

const rejoinHelp = `
A copy of Kite's directory, on another machine or at another path, has the id of the one it was copied from, and the store
takes only one of them. The other machines see this one as a new one then.

Exit codes: 0 done, 1 refused, not confirmed or failed, 3 no daemon runs.

Example:
  $ kite store rejoin`;

export function add(command: Command, run: Run): void {
  command
    .enablePositionalOptions()
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(({ json }: StoreFlags) => run(world => showStore(world, json === true)));
  const below = (name: string, says: string, text: string) =>
    command
      .command(name)
      .description(says)
      .option("-y, --yes", "do not ask")
      .option("--json", "print one JSON object")
      .addHelpText("after", text);
  below("join <url>", "point this machine's daemon at a store", joinHelp).action(
    (url: string, flags: StoreFlags) =>
      run(world => join(world, url, flags, { ask: terminalQuestion(), secret: terminalSecret() })),
  );
  below("share", "share the project of the working directory", shareHelp)
    .option("-n, --dry-run", "show what would be shared, and do nothing")
    .action((flags: StoreFlags) => run(world => share(world, flags, terminalQuestion())));
  below("leave", "copy back what is shared, and leave the store", leaveHelp)
    .option("-n, --dry-run", "show what would be copied back, and do nothing")
    .option("--away", "leave although the store does not answer")
    .action((flags: LeaveFlags) => run(world => leave(world, flags, terminalQuestion())));
  below("rejoin", "give a copied directory of Kite an id of its own in the store", rejoinHelp).action(
    (flags: StoreFlags) => run(world => rejoin(world, flags, terminalQuestion())),
  );
}
