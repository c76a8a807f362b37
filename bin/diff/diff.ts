/** `kite diff` shows what changed between versions of a file, or what is not committed, by writer. */

import type { Command } from "commander";
import { isResource } from "../../protocol/names.ts";
import { actingSession } from "../context/actor.ts";
import {
  type ProcessContext,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { ownProject, realPath } from "../context/project.ts";
import { exitCodes, fail, Refused } from "../context/with-daemon.ts";
import { code, fileWord } from "../rescue/shown.ts";
import { bytesOf, Texts } from "../rescue/texts.ts";
import {
  type Asker,
  asAsker,
  Commits,
  type CommittedFile,
  keptFile,
  neededContent,
  onDisk,
} from "../rescue/versions.ts";
import { clean, listed } from "../view/text.ts";
import { type Change, differs, modeOf, placeOf, repositoryAt } from "./changes.ts";
import { agentNamed, committedBy, meant, type Uncommitted, uncommitted } from "./committed.ts";
import { changeJson, changeLines, page, pagerFor, patches, statLines } from "./show.ts";

// `kite diff`: what changed between versions of a file, or what is not committed, or was, by writer.

interface DiffFlags {
  readonly from?: string;
  readonly to?: string;
  readonly by?: string;
  readonly commit?: boolean;
  readonly stat?: boolean;
  readonly patch?: boolean;
  readonly json?: boolean;
}

/** What a diff shows. */
interface Found extends Pick<Uncommitted, "unseen" | "odd" | "more"> {
  readonly changes: readonly Change[];
}

/** Where files must be that an agent is shown: its tool would go round what its client asks a person about. */
interface Within {
  readonly project: string;
  readonly cwd: string;
}

interface Tools {
  readonly commits: Commits;
  readonly texts: Texts;
}

/** Files that one line names. */
const namedMax = 5;

const noGit = "git, which compares the texts, is not installed, or not in the PATH";

/** Returns the exit code. */
function diff(world: ProcessContext, what: string | undefined, flags: DiffFlags): Promise<number> {
  const json = flags.json === true;
  const wrong = misuse(what, flags);
  if (wrong !== null) return Promise.resolve(fail(world, json, "usage", wrong));
  const isFile = world.argv.includes("--");
  const named = isFile && what !== undefined && isResource(what) ? `./${what}` : what;
  return asAsker(world, json, async asker => {
    const texts = Texts.open(world);
    if (texts === null) return fail(world, json, "not_available", noGit);
    try {
      const tools = { commits: new Commits(asker), texts };
      const all = await found(world, asker, tools, named, { ...flags, isFile });
      return await print(world, texts, all, flags);
    } finally {
      texts.close();
    }
  });
}

function misuse(
  what: string | undefined,
  { from, to, by, commit, stat, patch, json }: DiffFlags,
): string | null {
  const isOfVersions = from !== undefined || to !== undefined;
  if (isOfVersions && what === undefined) return "--from and --to need a file: kite diff FILE --from v-1";
  if (isOfVersions && (commit === true || by !== undefined))
    return "--from and --to compare versions of a file: leave out --commit and --by";
  if (commit === true && what === undefined && by === undefined)
    return "--commit needs an agent: kite diff NAME --commit";
  const ways = [stat === true && "--stat", patch === true && "--patch", json === true && "--json"];
  const formats = ways.filter(way => typeof way === "string");
  return formats.length > 1 ? `give one of ${formats.join(" and ")}` : null;
}

/** Returns what the arguments ask for. Throws `Refused`. */
export async function found(
  world: Pick<ProcessContext, "cwd">,
  asker: Asker,
  tools: Tools,
  what: string | undefined,
  flags: DiffFlags & { readonly isFile?: boolean; readonly within?: Within },
): Promise<Found> {
  const none = { unseen: [], odd: [], more: 0 };
  const { from, to, by, commit = false, patch = false, isFile = false } = flags;
  if (what !== undefined && (from !== undefined || to !== undefined))
    return { ...none, changes: await between(asker, tools, what, flags) };
  const named = await meant(world, asker, what, isFile || by !== undefined, tools.commits);
  const who =
    by !== undefined ? await agentNamed(world, asker, by) : named?.is === "agent" ? named.agent : null;
  const path = named?.is === "path" ? named.path : null;
  if (path !== null && flags.within !== undefined) await refuseOutside(path, flags.within);
  if (!commit) return uncommitted(world, asker, tools, { meant: named, by: who, patch });
  if (who === null)
    throw new Refused({
      ok: false,
      code: "invalid_request",
      error: `--commit needs an agent, and ${what ?? ""} is a file: kite diff ${what ?? "FILE"} --commit --by NAME`,
    });
  const { on } = await state(asker);
  if (!on) throw new Refused({ ok: false, code: "not_available", error: noVersions });
  return { ...none, changes: await committedBy(asker, tools, who, path) };
}

/** Throws `Refused` if the path is neither in the project nor below the directory. */
async function refuseOutside(path: string, { project, cwd }: Within): Promise<void> {
  const folder = await realPath(cwd, ".");
  if (path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`)) return;
  const { worktree } = await repositoryAt(path);
  if ((await ownProject({ cwd: worktree })) === project) return;
  const error = `${path} is outside of your project: an agent is shown its own project's work; ask your user: kite diff ${fileWord(path)}`;
  throw new Refused({ ok: false, code: "person_only", error });
}

const noVersions =
  "Kite tells what an agent committed by the versions that it keeps, and the setting rescue is off; git log shows the commits";

async function state({ client }: Asker): Promise<{ readonly on: boolean }> {
  const reply = await client.request("rescue_state", {});
  if (!reply.ok) throw new Refused(reply);
  return reply;
}

async function between(
  asker: Asker,
  { commits }: Tools,
  typed: string,
  { from, to }: DiffFlags,
): Promise<readonly Change[]> {
  const { path, rows } = await keptFile(asker, typed);
  const place = await placeOf(path, rows);
  const disk = onDisk(path);
  const of = async (name: string | undefined, isFrom: boolean): Promise<Buffer | null> => {
    if (name === undefined && isFrom) return commits.content(await commits.head(place.worktree), place);
    if (name === undefined) return bytesOf(disk);
    const row = rows.find(({ version }) => version === name);
    return row === undefined ? undefinedVersion(name, place, typed) : await neededContent(row);
  };
  const [before, after] = [await of(from, true), await of(to, false)];
  const change = {
    ...place,
    path,
    was: null,
    writers: null,
    isWhole: false,
    mode: modeOf(disk),
    before,
    after,
  };
  return differs(change) ? [change] : [];
}

function undefinedVersion(name: string, { file }: CommittedFile, typed: string): never {
  throw new Refused({
    ok: false,
    code: "unknown_version",
    error: `Kite keeps no version ${name} of ${file}; kite history --all ${fileWord(typed)} lists them`,
  });
}

async function print(
  world: ProcessContext,
  texts: Texts,
  { changes, unseen, odd, more }: Found,
  { by, stat, patch, json, commit }: DiffFlags,
): Promise<number> {
  if (json) {
    const diffs: object[] = [];
    for (const change of changes) diffs.push(await changeJson(texts, change));
    printJson(world, { ok: true, diffs, unseen, odd, more });
    return exitCodes.done;
  }
  const notes = [
    ...odd.map(({ file, what }) => `kite: ${clean(file)} is ${what}, which is not compared`),
    ...(more > 0 ? [`kite: ${more} further files are not shown: name a file or a directory`] : []),
  ];
  const note = (line: string) => world.stderr.write(`${line}\n`);
  if (patch) {
    const own = by === undefined ? changes : changes.filter(({ writers }) => writers?.length === 1);
    for (const { file } of changes)
      if (!own.some(one => one.file === file))
        note(`kite: ${clean(file)}: lines that others changed, too, are left out`);
    const made = await patches(texts, own);
    printPatch(world, made.patch);
    for (const file of made.left) note(`kite: ${clean(file)} is no text, so that no patch has it`);
    for (const line of notes) note(line);
    return made.left.length > 0 ? exitCodes.failed : exitCodes.done;
  }
  const screen = screenOf(world);
  const lines: string[] = [];
  if (stat && changes.length > 0) lines.push(...(await statLines(texts, changes, screen)));
  else for (const change of changes) lines.push(...(await changeLines(texts, change, screen)));
  if (lines.length === 0) lines.push(commit ? "Nothing of it is committed." : "Nothing differs.");
  lines.push(...unseenLines(unseen));
  await show(world, lines, changes);
  for (const line of notes) note(line);
  return exitCodes.done;
}

/** Names the files that the agent may have changed by a shell command that Kite did not see write them. */
export function unseenLines(unseen: readonly string[]): string[] {
  if (unseen.length === 0) return [];
  const names = listed(unseen.slice(0, namedMax).map(clean), unseen.length - namedMax);
  const what = unseen.length === 1 ? "file differs" : "files differ";
  return [
    "",
    `There, ${unseen.length} further ${what}, and Kite saw nobody write: ${names}. To see all: kite diff`,
  ];
}

/** As \`git apply\` takes it; on a terminal no character of it moves the cursor. */
function printPatch(world: ProcessContext, patch: Buffer): void {
  const text = patch.toString("utf8");
  world.stdout.write(world.stdout.isTTY === true ? text.split("\n").map(code).join("\n") : text);
}

/** In the pager of a person at a terminal. */
async function show(
  world: ProcessContext,
  lines: readonly string[],
  changes: readonly Change[],
): Promise<void> {
  const { env, cwd, stdout } = world;
  const isPaged = stdout.isTTY === true && env["TERM"] !== "dumb" && actingSession(env) === null;
  if (isPaged) {
    const place = { env, cwd, projects: [cwd, ...new Set(changes.map(({ worktree }) => worktree))] };
    const line = await pagerFor(place);
    if (line !== null && (await page(line, `${lines.join("\n")}\n`, place))) return;
  }
  printFramed(world, lines);
}

const help = `
Of an agent, diff shows what that agent changed and has not committed. Of a file or a directory it shows all that is not
committed, by writer: lines that one agent changed stand apart from those of another, and lines that several changed stand
together. Without an argument it shows the project. An agent's name comes before a file's: -- before it makes it a file.

--commit shows what the agent committed since it began, as far as Kite still keeps its versions. --from and --to compare
versions of one file (kite history lists them); without --from the last commit counts, without --to the file as it is.

Where Kite keeps no versions (the setting rescue is off, or the file holds a secret), a file stands whole below the names of
all who wrote it. At a terminal the text goes through your pager, as git finds it in your own settings and environment.

--patch prints what \`git apply\` takes, unchanged: kite diff src/auth.ts --by alice --patch | git apply --cached stages what
alice alone changed. Kite compares by git, without any program or setting of the project.

--json: {"ok":true, "diffs":[{"file", "path", "worktree", "was": its old name or null, "how": "added"|"deleted"|"renamed"|"changed",
"mode", "writers":[{"id", "agent", "name"}|null], "isWhole": nobody can tell the writers apart, "isText", "diff"}],
"unseen":[files that differ where the agent works, which Kite saw nobody write], "odd":[{"file", "what"}], "more": files beyond 500}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite diff alice
  $ kite diff src/auth.ts --stat
  $ kite diff alice --commit
  $ kite diff src/auth.ts --from v-12 --to v-15`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name-or-file]", "an agent, or a file or directory")
    .option("--commit", "what the agent committed since it began")
    .option("--stat", "count the lines of each file")
    .option("--by <name>", "only what this agent changed")
    .option("--from <version>", "from this version, instead of the last commit")
    .option("--to <version>", "to this version, instead of the file as it is")
    .option("--patch", "print a patch")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((what: string | undefined, flags: DiffFlags) => run(world => diff(world, what, flags)));
}
