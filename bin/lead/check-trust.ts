/** `kite check --trust`: a person reads the text of a project's checks, and trusts it. */

import { existsSync, mkdirSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { objectIn, textOf } from "../../daemon/config/config.ts";
import { changeSeen, strangeWorktree } from "../../daemon/config/off-switch.ts";
import { readSmall } from "../../daemon/facts/prober.ts";
import type { Repository } from "../../daemon/facts/repositories.ts";
import {
  type Check,
  checksIn,
  gatesSchema,
  isNothing,
  parseTrusted,
  projectFile,
  setupIn,
  type Trust,
  type TrustedFiles,
  type TrustedParts,
  type TrustedText,
  trustedText,
  trustHash,
  trustOf,
} from "../../daemon/lead/settings.ts";
import { InstallFailed, isCode, readText, whileLocked, writeWhole } from "../../hooks/install/file.ts";
import { type Gates, gatesText } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { shellArgument, visible } from "../../protocol/text.ts";
import {
  type AskPerson,
  isYes,
  type RefuseOptions,
  refuseAgent,
  terminalQuestion,
} from "../context/person.ts";
import { type ProcessContext, print, printJson, screenOf } from "../context/process-context.ts";
import { type FindRepository, findRepository, namedDirectory, ProjectUnknown } from "../context/project.ts";
import { exitCodes, fail, printDone } from "../context/with-daemon.ts";
import { damaged, oddFile } from "../doctor/odd-files.ts";
import { advise, aside, type Check as DoctorCheck, fail as doctorFail } from "../doctor/results.ts";
import { defined } from "../entry.ts";
import { sawFile } from "../settings/off-now.ts";
import { tilde } from "../view/places.ts";
import { clean, clock, table, wrap } from "../view/text.ts";
import {
  type Git,
  gitOf,
  must,
  namesIn,
  type Programs,
  programsIn,
  untrustedOf,
  worktreesOf,
} from "./merge/git.ts";

// What a push would run or follow of the repository's own git configuration: any agent could have written it. None of it counts
// unless a person trusted it as it is. What a person's own configuration names counts as always.

/** Settings that name a program, lead a push elsewhere, or open what is on its way. */
const isOfPush =
  /^(?:core\.(?:sshcommand|gitproxy|askpass|alternaterefscommand)|ssh\.variant|credential\..+|url\..+|https?\..+|protocol\..+|gpg\..+|remote\..+\.(?:uploadpack|receivepack|vcs|proxy|proxyauthmethod|serveroption)|push\.(?:gpgsign|pushoption|recursesubmodules|negotiate)|remote\..+\.(?:push|mirror))$/s;

/** Returns these settings of the repository and its worktrees, with all values of each; hooks and local remotes among them. */
export async function pushSettings(
  git: Git,
  folders: readonly string[],
  remote: string | null,
): Promise<Programs> {
  const found = new Map<string, Set<string>>();
  const add = (key: string, value: string) => found.set(key, (found.get(key) ?? new Set()).add(value));
  for (const cwd of [null, ...folders]) {
    const at = cwd === null ? {} : { cwd };
    const listed = namesIn(await must(git, ["config", "--list", "--show-scope", "-z"], at));
    for (let n = 0; n + 1 < listed.length; n += 2) {
      const [scope, entry = ""] = listed.slice(n, n + 2);
      if (scope !== "local" && scope !== "worktree") continue;
      const [key = "", ...value] = entry.split("\n");
      if (isOfPush.test(key)) add(key, value.join("\n"));
      // A remote on this machine runs its own hooks, with the person's rights.
      if (remote !== null && isRemoteUrl(key, remote) && !isElsewhere(value.join("\n")))
        add(key, value.join("\n"));
    }
  }
  return new Map([...found].map(([key, values]) => [key, [...values].join("\n")]));
}

function isRemoteUrl(key: string, remote: string): boolean {
  return key === `remote.${remote}.url` || key === `remote.${remote}.pushurl`;
}

/** Whether a remote is on another machine, and is reached by what git itself brings. */
function isElsewhere(url: string): boolean {
  if (url.includes("::") || url.startsWith("-")) return false;
  if (/^(?:https?|git|ssh|git\+ssh|ssh\+git):\/\//i.test(url)) return true;
  return /^(?:[\w.-]+@)?[\w.-]+:(?!\/\/)/.test(url);
}

/** Whether the repository has a hook that git would run before a push: Kite runs none, and so does not push. */
export async function hasPushHook(git: Git, cwd: string, gitDir: string): Promise<boolean> {
  // What the command itself sets does not count here.
  const { code, out } = await git(["config", "--null", "--show-origin", "--get-all", "core.hooksPath"], {
    cwd,
  });
  const values = code === 0 ? namesIn(out) : [];
  const folders = values.filter(
    (_, n) => n % 2 === 1 && values[n - 1]?.startsWith("command line:") === false,
  );
  const folder = folders.at(-1) ?? join(gitDir, "hooks");
  const path = folder.startsWith("~/") ? null : isAbsolute(folder) ? folder : join(cwd, folder);
  return path === null || existsSync(join(path, "pre-push"));
}

// Reads and writes `trusted.json`; daemon/lead/settings.ts says what it holds.

/** Returns what is trusted. Throws InstallFailed if Kite did not write the file so. */
export function readTrusted(path: string): TrustedFiles {
  const text = readText(path, limits.trustedBytes);
  const files = text === null ? new Map<string, TrustedText>() : parseTrusted(text);
  if (files === null) throw new InstallFailed(`${path} is not as Kite writes it; remove it, then try again`);
  return files;
}

/** Returns the programs of a project's git configuration that a person trusted. */
export function trustedPrograms(path: string, project: string): ReadonlyMap<string, string> {
  return readTrusted(path).get(projectFile(project))?.programs ?? new Map();
}

/** Sets what is trusted of a project's file; null: nothing. Returns whether something was. Throws InstallFailed. */
async function setTrusted(paths: KitePaths, file: string, text: TrustedText | null): Promise<boolean> {
  const { trusted: path } = paths;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return whileLocked(path, () => {
    const before = readTrusted(path);
    const was = before.has(file);
    if (text === null && !was) return false;
    const files = changed(before, file, text);
    const whole = textWithin(files);
    if (files.size > limits.trustedFilesMax || Buffer.byteLength(whole) > limits.trustedBytes) {
      throw new InstallFailed(
        `${path} has room for no further project; drop one: kite check --trust --list, kite check --trust --revoke DIR`,
      );
    }
    writeWhole(path, whole, 0o600);
    changeSeen(paths, "trusted", copy =>
      textWithin(changed(copy === null ? new Map() : (parseTrusted(copy) ?? before), file, text)),
    );
    return was;
  });
}

function changed(before: TrustedFiles, file: string, text: TrustedText | null): TrustedFiles {
  const files = new Map(before);
  files.delete(file);
  if (text !== null) files.set(file, text);
  return files;
}

/** The checks themselves are kept only to show what changed: they are left out if they need too much room. */
function textWithin(files: TrustedFiles): string {
  const long = trustedText(files, false);
  return Buffer.byteLength(long) > limits.trustedBytes ? trustedText(files, true) : long;
}

// The checks of the project around a directory, with whether a person trusts them.

/** The directory names a repository that is not its own. */
class StrangeWorktree extends LocalError {
  override readonly name = "StrangeWorktree";
}

export interface NamedChecks {
  readonly repository: Repository;
  /** The project's file, whether or not it exists. */
  readonly file: string;
  readonly checks: readonly Check[];
  /** The gates that the file sets; null: none. */
  readonly gates: Gates | null;
  /** The line that makes a fresh worktree ready for the checks; null: none. */
  readonly setup: string | null;
  /** A sentence for each part of the file that does not count. */
  readonly problems: readonly string[];
  readonly trust: Trust;
  /** What a person trusted of the file at last; null: nothing. */
  readonly trusted: TrustedText | null;
}

/** Reads the project's file once. Throws a `LocalError` if the project or what is trusted of it is not known. */
export async function checksAt(
  { paths }: Pick<ProcessContext, "paths">,
  directory: string,
  find: FindRepository = findRepository,
): Promise<NamedChecks> {
  const repository = await find(directory);
  if ("unreachable" in repository) {
    throw new ProjectUnknown(`could not determine the project of ${directory}: ${repository.unreachable}`);
  }
  const strange = await strangeWorktree(repository, {
    text: path => readSmall(path).catch(absent),
    real: path => realpath(path).catch(absent),
  });
  if (strange !== null) throw new StrangeWorktree(strange);
  const file = projectFile(repository.project);
  // In the home directory, the user's file and the project's are the same.
  const nothing = { checks: [], gates: null, setup: null, problems: [] };
  const named = file === paths.config ? nothing : await checksOf(file);
  const all = readTrusted(paths.trusted);
  return { repository, file, ...named, trust: trustOf(all, file, named), trusted: all.get(file) ?? null };
}

/** Returns whether the text that a file has now is trusted. */
export async function trustNow(file: string, trusted: TrustedFiles): Promise<Trust> {
  return trustOf(trusted, file, await checksOf(file));
}

async function checksOf(file: string): Promise<Pick<NamedChecks, "checks" | "gates" | "setup" | "problems">> {
  const problems: string[] = [];
  const text = await textOf(file, readSmall, problems);
  const fields = text === null ? new Map<string, unknown>() : objectIn(text, file, problems);
  const checks = checksIn(fields.get("checks"), file, problems);
  const setup = setupIn(fields.get("setup"), file, problems);
  const gateField = fields.get("gates");
  const gates = gateField === undefined ? null : gatesSchema.safeParse(gateField);
  if (gates?.success === false)
    problems.push(`${file}: gates is ignored: ${gates.error.issues[0]?.message ?? "it is invalid"}`);
  return { checks, gates: gates?.data ?? null, setup, problems };
}

function absent(error: unknown): null {
  if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return null;
  throw error;
}

// What a person reads before trusting: every check and glob on a line of its own, whole, and with nothing invisible.

/** Prints what would be trusted, and what of it is new. */
function showTrust(world: ProcessContext, named: NamedChecks): void {
  const { file, checks, gates, setup, problems, trust, trusted } = named;
  const { home, width, now } = screenOf(world);
  const place = clean(tilde(named.repository.project, home));
  for (const problem of problems) print(world, wrap(`! ${clean(problem)}`, width, 2));
  const lines = linesOf(named);
  if (lines.length > 0) print(world, [`Checks of ${place}, from ${clean(tilde(file, home))}:`, ...lines]);
  if (trust === "changed" && trusted !== null) {
    const what =
      lines.length === 0 ? "All that you trusted is gone" : "This has changed since you trusted it";
    print(world, [`! ${what} (${clock(trusted.at, now)}).`, ...changesOf(trusted, named)]);
  }
  if (checks.length > 0)
    print(
      world,
      wrap(
        "kite check runs these lines in a shell with your rights. What they call (scripts, make, npm) may change later: only the lines themselves are trusted.",
        width,
      ),
    );
  if (setup !== null)
    print(world, wrap("kite merge runs the setup before them, in the fresh worktree of each merge.", width));
  if (gates !== null)
    print(world, wrap("Trusted gates stay in force, even if they vanish from the file.", width));
}

/** Prints the programs that git may run in a merge, and which of them are new. */
function showPrograms(
  world: ProcessContext,
  programs: ReadonlyMap<string, string>,
  trusted: ReadonlyMap<string, string>,
): void {
  if (programs.size === 0) return;
  const { width } = screenOf(world);
  const lines = [...programs].map(
    ([key, line]) => `  ${trusted.get(key) === line ? " " : "+"} ${visible(key)}  ${visible(line)}`,
  );
  const what =
    "Programs that the repository's own git configuration names (any agent may have written it). Git runs them with your rights, in kite merge only if you trust them:";
  print(world, [...wrap(what, width), ...lines]);
}

/** Returns a line for each check, each of its globs, the gates, and the setup. */
function linesOf({ checks, gates, setup = null }: TrustedParts): string[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  return [
    ...checks.flatMap(({ name, command, when }) => [
      `  ${name.padEnd(width)}  ${visible(command)}`,
      ...(when === null ? [] : [`  ${" ".repeat(width)}  only after a change of`]),
      ...(when ?? []).map(glob => `  ${" ".repeat(width)}    ${visible(JSON.stringify(glob))}`),
    ]),
    ...(gates === null ? [] : [`  gates: ${gatesText(gates)}`]),
    ...(setup === null ? [] : [`  setup: ${visible(setup)}`]),
  ];
}

/** Returns what was trusted and is not there any more, and what is there instead. */
function changesOf(
  { checks, gates, setup }: NonNullable<NamedChecks["trusted"]>,
  now: TrustedParts,
): string[] {
  if (checks === null) return ["  (what it was before is not known any more)"];
  const [before, after] = [{ checks, gates, setup: setup ?? null }, now].map(parts => partsOf(parts));
  if (before === undefined || after === undefined) return [];
  return [
    ...[...before].filter(([name, text]) => after.get(name) !== text).map(([, text]) => `  - ${text}`),
    ...[...after].filter(([name, text]) => before.get(name) !== text).map(([, text]) => `  + ${text}`),
  ];
}

/** Each part by its name, on one line. */
function partsOf({ checks, gates, setup = null }: TrustedParts): ReadonlyMap<string, string> {
  const parts = new Map(
    checks.map(({ name, command, when }) => {
      const globs = when === null ? "" : `  when ${visible(JSON.stringify(when))}`;
      return [name, `${name}  ${visible(command)}${globs}`];
    }),
  );
  // A check's name has no blank.
  if (gates !== null) parts.set("the gates", `gates: ${gatesText(gates)}`);
  if (setup !== null) parts.set("the setup", `setup: ${visible(setup)}`);
  return parts;
}

export interface TrustFlags {
  readonly yes?: boolean;
  readonly list?: boolean;
  readonly revoke?: boolean;
  readonly json?: boolean;
}

/** What a test replaces: the terminal, the search for a repository, and who runs the command. */
export interface Surroundings {
  /** Asks a person and returns what was typed; null: there is no terminal to ask on. */
  readonly ask?: AskPerson | null;
  readonly find?: FindRepository;
  readonly isAgent?: RefuseOptions["isAgent"];
}

/** Returns the exit code, as all functions here do. */
export async function trust(
  world: ProcessContext,
  directory: string,
  flags: TrustFlags,
  around: Surroundings = {},
): Promise<number> {
  const json = flags.json === true;
  const isRevoked = flags.revoke === true;
  const path = isRevoked ? resolve(world.cwd, directory) : namedDirectory(world.cwd, directory);
  const refused = await refuseAgent(world, json, isRevoked ? "revoke" : "trust", {
    line: `kite check --trust ${isRevoked ? "--revoke " : ""}${shellArgument(path)}`,
    ...defined({ isAgent: around.isAgent }),
  });
  if (refused !== null) return refused;
  const named = await checksAt(world, path, around.find);
  if (isRevoked) return revoke(world, json, named);
  if (!json) showTrust(world, named);
  const programs = await programsOf(world, named);
  const trustedPrograms = named.trusted?.programs ?? new Map();
  if (!json) showPrograms(world, programs, trustedPrograms);
  const isGone = isNothing(named) && programs.size === 0;
  // What cannot be read is not gone.
  if (isGone && (named.trusted === null || named.problems.length > 0)) {
    const error = `${named.file} names no checks; kite check --help shows how to name some`;
    return fail(world, json, "no_checks", error);
  }
  const isNew =
    (named.trust !== "trusted" && named.trust !== "none") || untrustedOf(programs, trustedPrograms).size > 0;
  if (isNew) {
    const unconfirmed = await confirmTrust(world, path, isGone, flags, around);
    if (unconfirmed !== null) return unconfirmed;
    await setTrusted(world.paths, named.file, isGone ? null : trustedNow(world, named, programs));
  }
  return printDone(world, json, trustJson(named, programs), () => [
    isNew ? (isGone ? accepted : trustedWords(named)) : already,
  ]);
}

async function revoke(world: ProcessContext, json: boolean, named: NamedChecks): Promise<number> {
  const { repository, file } = named;
  const was = await setTrusted(world.paths, file, null);
  return printDone(world, json, { ok: true, file, revoked: was }, () => [
    `${place(world, repository)}: ${was ? "no longer trusted" : "was not trusted"}`,
  ]);
}

/** Asks the person unless --yes answers for them. Returns null if they agree, else the exit code. */
async function confirmTrust(
  world: ProcessContext,
  path: string,
  isGone: boolean,
  flags: TrustFlags,
  around: Surroundings,
): Promise<number | null> {
  if (flags.yes === true) return null;
  const ask = around.ask === undefined ? terminalQuestion() : around.ask;
  if (ask === null || flags.json === true) {
    const error = `there is no terminal to ask on; a person runs kite check --trust ${shellArgument(path)}, or passes --yes`;
    return fail(world, flags.json === true, "not_asked", error);
  }
  const question = isGone ? "Accept that they are gone? [y/N] " : "Trust them? [y/N] ";
  if (isYes((await ask(question)) ?? "")) return null;
  print(world, [isGone ? "Nothing was changed." : "Not trusted; nothing was changed."]);
  return exitCodes.failed;
}

/** Returns what is kept of what a person trusts now. */
function trustedNow(world: ProcessContext, named: NamedChecks, programs: Programs): TrustedText {
  const { gates, checks, setup } = named;
  return {
    hash: trustHash(named),
    at: world.now(),
    gates,
    checks,
    ...(setup === null ? {} : { setup }),
    ...(programs.size === 0 ? {} : { programs }),
  };
}

function trustJson({ file, checks, gates, setup, problems, trust: was }: NamedChecks, programs: Programs) {
  return {
    ...{ ok: true as const, file, checks, gates, setup },
    ...(programs.size === 0 ? {} : { programs: Object.fromEntries(programs) }),
    ...{ problems, was },
  };
}

/** Returns the programs of the repository's own git configuration, as it counts in any of its worktrees. */
async function programsOf({ env }: ProcessContext, { repository }: NamedChecks): Promise<Programs> {
  if (repository.gitDir === null) return new Map();
  const git = gitOf(env, repository.gitDir, new AbortController().signal);
  // A folder that only looks like a repository has no configuration that git reads.
  if ((await git(["rev-parse", "--git-dir"])).code !== 0) return new Map();
  const folders = (await worktreesOf(git)).map(({ path }) => path);
  const remotes = (await git(["remote"])).out.split("\n").filter(one => one !== "");
  const found = new Map(await programsIn(git, folders));
  for (const remote of [null, ...remotes])
    for (const [key, value] of await pushSettings(git, folders, remote)) found.set(key, value);
  return found;
}

function trustedWords({ checks }: Pick<NamedChecks, "checks">): string {
  return checks.length === 0 ? "Trusted." : "Trusted: kite check runs them.";
}

const accepted = "Accepted: nothing of this project is trusted any more.";
const already = "They are trusted already.";

function place(world: ProcessContext, { project }: Repository): string {
  return clean(tilde(project, screenOf(world).home));
}

// `kite check --trust --list`: what is trusted, and whether it still is so.

/** Returns the exit code. */
export async function listTrusted(world: ProcessContext, json: boolean): Promise<number> {
  const screen = screenOf(world);
  const trusted = readTrusted(world.paths.trusted);
  const files = await Promise.all(
    [...trusted].map(async ([file, { at }]) => ({ file, at, trust: await trustNow(file, trusted) })),
  );
  if (json) {
    printJson(world, { files });
    return exitCodes.done;
  }
  const rows = files.map(({ file, at, trust }) => [
    clean(tilde(dirname(dirname(file)), screen.home)),
    trust === "trusted" ? "trusted" : "changed since",
    { text: clock(at, screen.now), style: "dim" as const },
  ]);
  print(
    world,
    rows.length === 0 ? ["No checks are trusted."] : table(rows, [{ min: 8, cut: "start" }, {}, {}], screen),
  );
  await sawFile(world, "trusted");
  return exitCodes.done;
}

// Checks the record of the projects' checks that a person trusted.

/** Returns no check if the record is well or there is none. */
export function checkTrusted(world: ProcessContext): DoctorCheck[] {
  const { trusted } = world.paths;
  const odd = oddFile(trusted);
  if (odd !== null)
    return [doctorFail("trust", `${odd.what}, so no project's checks are trusted`, odd.advice)];
  try {
    readTrusted(trusted);
    return [];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const detail = `${damaged(trusted)}, so no project's checks are trusted`;
    const advice = advise("put it aside, then trust the projects again (kite check --trust)", aside(trusted));
    return [doctorFail("trust", detail, advice)];
  }
}
