/** `kite merge --pr`: pushes a branch, and opens a pull request with gh. A person's alone; it asks each time, and never forces. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { findProgram } from "../../../daemon/facts/programs.ts";
import { refuse } from "../../../protocol/codes.ts";
import { searchPath } from "../../../protocol/paths.ts";
import { plain, shellArgument } from "../../../protocol/text.ts";
import {
  type AskPerson,
  isYes,
  type RefuseOptions,
  refuseAgent,
  terminalQuestion,
} from "../../context/person.ts";
import { interrupted, type ProcessContext, print } from "../../context/process-context.ts";
import { neededProgram, runHere, withoutSession } from "../../context/programs.ts";
import { exitCodes, fail, Refused, withDaemon } from "../../context/with-daemon.ts";
import { defined } from "../../entry.ts";
import { clean, counted, listed } from "../../view/text.ts";
import { hasPushHook, pushSettings, trustedPrograms } from "../check-trust.ts";
import {
  commitOf,
  type MergeRepository,
  must,
  repositoryFor,
  shortOf,
  untrustedOf,
  withoutGit,
} from "./git.ts";
import { planOf } from "./plan.ts";

/** What a test replaces: the terminal, and who runs the command. */
export interface Surroundings {
  readonly ask?: AskPerson | null;
  readonly isAgent?: RefuseOptions["isAgent"];
}

/** Commits whose subjects the text of the pull request lists. */
const subjectsMax = 50;

/** Variables of git that a person sets to reach remotes. */
const persons = ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS"] as const;

interface Push {
  readonly remote: string;
  readonly url: string;
  readonly branch: string;
  readonly commit: string;
}

/** Returns the exit code: 0 only if all that was asked for is done. */
export async function pullRequest(
  world: ProcessContext,
  name: string,
  { into, json = false }: { readonly into?: string; readonly json?: boolean },
  around: Surroundings = {},
): Promise<number> {
  const refused = await refuseAgent(world, json, "pr", defined({ isAgent: around.isAgent }));
  if (refused !== null) return refused;
  if (json) return fail(world, json, "not_asked", "--pr asks a person each time: leave out --json");
  const repository = await repositoryFor(world, into, interrupted());
  return withDaemon(world, false, async client => {
    const [planned] = await planOf(world, client, repository, [name]);
    if (planned === undefined) throw wrong(`there is no branch ${name}`);
    const { branch, uncommitted, isMerged } = planned;
    const base = shortOf(repository.base);
    if (isMerged) throw wrong(`${base} has all of ${shortOf(branch)} already: there is nothing to ask for`);
    const push = await pushOf(world, repository, branch);
    const gh = findProgram("gh", { env: world.env, workedIn: foldersOf(world, repository) });
    const subjects = await subjectsOf(repository, push.commit);
    const [title = shortOf(branch)] = subjects;
    const what = `${counted(subjects.length, "commit")} of ${clean(shortOf(branch))} to ${clean(push.remote)}`;
    print(world, [
      `Kite pushes ${what}: ${clean(push.url)}`,
      ...subjects.slice(0, subjectsMax).map(subject => `  ${clean(subject)}`),
      ...(uncommitted > 0 ? [`! ${counted(uncommitted, "file")} not committed, and not pushed`] : []),
      gh === null
        ? "! gh is not installed: the branch alone is pushed, and you open the pull request"
        : `Then gh opens a pull request into ${clean(base)}: ${clean(title)}`,
    ]);
    const ask = around.ask === undefined ? terminalQuestion() : around.ask;
    if (ask === null)
      return fail(world, false, "not_asked", "there is no terminal to ask on, and nothing was pushed");
    if (!isYes(await ask("Push it? [y/N] "))) {
      print(world, ["Nothing was pushed."]);
      return exitCodes.failed;
    }
    const now = await pushOf(world, repository, branch);
    if (now.url !== push.url || now.commit !== push.commit || now.remote !== push.remote)
      throw wrong(
        `${shortOf(branch)} or its remote changed while you read; nothing was pushed: run it again`,
      );
    return deliver(world, repository, push, { base, title, subjects, gh: gh?.path ?? null });
  });
}

function wrong(error: string): Refused {
  return new Refused(refuse("invalid_request", error));
}

function foldersOf({ cwd }: ProcessContext, { worktrees }: MergeRepository): readonly string[] {
  return [cwd, ...worktrees.map(({ path }) => path)];
}

/** What would be pushed where. Throws `Refused` if something that nobody trusted would run, or lead it elsewhere. */
async function pushOf(world: ProcessContext, repository: MergeRepository, branch: string): Promise<Push> {
  const { git, gitDir, worktrees, project } = repository;
  const remotes = (await must(git, ["remote"])).split("\n").filter(one => one !== "");
  const remote = remotes.includes("origin") ? "origin" : remotes.length === 1 ? remotes[0] : undefined;
  if (remote === undefined)
    throw wrong(
      remotes.length === 0
        ? "the repository has no remote to push to; add one: git remote add origin URL"
        : `none of the remotes ${listed(remotes)} is called origin, so Kite cannot tell which is meant; push it yourself`,
    );
  const folders = worktrees.map(({ path }) => path);
  const settings = await pushSettings(git, folders, remote);
  const [first] = untrustedOf(settings, trustedPrograms(world.paths.trusted, project));
  if (first !== undefined)
    throw wrong(
      `a push would follow ${plain(first[0])} of the repository's own git configuration (${plain(first[1])}), which no person ` +
        "has trusted; nothing was pushed. Read and trust it: kite check --trust",
    );
  for (const cwd of folders)
    if (await hasPushHook(git, cwd, gitDir))
      throw wrong(
        `the repository has a hook pre-push, which Kite does not run; nothing was pushed. Push it yourself: git push ${shellArgument(remote)} ${shellArgument(shortOf(branch))}`,
      );
  const urls = (await must(git, ["remote", "get-url", "--push", "--all", remote]))
    .split("\n")
    .filter(one => one !== "");
  const [url] = urls;
  if (url === undefined || urls.length > 1)
    throw wrong(`the remote ${remote} has ${urls.length} places to push to; push it yourself`);
  if (url.includes("::") || url.startsWith("-"))
    throw wrong(`the remote ${remote} is ${url}, which needs a program of its own; push it yourself`);
  const commit = await commitOf(git, branch);
  if (commit === null) throw wrong(`the branch ${shortOf(branch)} has no commit`);
  return { remote, url, branch, commit };
}

/** The subjects of the commits that the base does not have, the oldest first. */
async function subjectsOf({ git, base }: MergeRepository, commit: string): Promise<readonly string[]> {
  const out = await must(git, ["log", "--reverse", "--format=%s", "--no-merges", `${base}..${commit}`, "--"]);
  return out.split("\n").filter(one => one !== "");
}

interface Request {
  readonly base: string;
  readonly title: string;
  readonly subjects: readonly string[];
  /** Null: it is not installed. */
  readonly gh: string | null;
}

async function deliver(
  world: ProcessContext,
  repository: MergeRepository,
  { remote, url, branch, commit }: Push,
  { base, title, subjects, gh }: Request,
): Promise<number> {
  const { env, cwd } = world;
  const name = shortOf(branch);
  const inside = foldersOf(world, repository);
  const outside = searchPath(env["PATH"])
    .split(delimiter)
    .filter(entry => !inside.some(one => entry === one || entry.startsWith(`${one}/`)));
  const own = {
    ...withoutGit(withoutSession(env)),
    ...Object.fromEntries(persons.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]]))),
    PATH: outside.join(delimiter),
    GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
    GIT_NO_LAZY_FETCH: "1",
  };
  const off = ["core.hooksPath=/dev/null", "core.fsmonitor=false"].flatMap(one => ["-c", one]);
  const how = ["--no-follow-tags", "--recurse-submodules=no", "--no-force"];
  const words = [...off, "--git-dir", repository.gitDir, "push", ...how, "--", remote, `${commit}:${branch}`];
  const code = await runHere(neededProgram("git", env, cwd), words, { cwd: repository.gitDir, env: own });
  if (code !== 0) {
    const error =
      `git did not push ${name}, as it says above: the branch at ${remote} is as it was. If it has commits that yours lacks, ` +
      `merge them first: git fetch ${shellArgument(remote)} ${shellArgument(name)}`;
    return fail(world, false, "push_failed", error);
  }
  print(world, [`Pushed ${clean(name)} to ${clean(remote)}.`]);
  const line = `gh pr create --head ${shellArgument(name)} --base ${shellArgument(base)}`;
  if (gh === null) {
    print(world, [`No pull request was opened. Install gh, then: ${clean(line)}`]);
    return exitCodes.failed;
  }
  const folder = mkdtempSync(join(tmpdir(), "kite-pr-"));
  try {
    const body = subjects
      .slice(0, subjectsMax)
      .map(subject => `- ${plain(subject)}`)
      .join("\n");
    // In an empty folder gh reads no repository, and runs nothing of one.
    const ghWords = ["pr", "create", `--repo=${url}`, `--head=${name}`, `--base=${base}`];
    const texts = [`--title=${plain(title)}`, `--body=${body}`];
    const made = await runHere(gh, [...ghWords, ...texts], { cwd: folder, env: own });
    if (made === 0) return exitCodes.done;
    const error = `gh ended with ${made}: ${name} is pushed, and no pull request is known to be open. Try again: ${line}`;
    return fail(world, false, "gh_failed", error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
