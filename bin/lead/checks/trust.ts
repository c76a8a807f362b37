/** `kite check --trust`: a person reads the text of a project's checks, and trusts it. */
import { resolve } from "node:path";
import type { Repository } from "../../../daemon/facts/repositories.ts";
import { isNothing, trustHash } from "../../../daemon/lead/settings.ts";
import { shellArgument } from "../../../protocol/text.ts";
import { type AskPerson, isYes, terminalQuestion } from "../../ask-person.ts";
import { defined } from "../../defined.ts";
import { namedDirectory } from "../../named-directory.ts";
import { type RefuseOptions, refuseAgent } from "../../person.ts";
import { type ProcessContext, print, screenOf } from "../../process-context.ts";
import type { FindRepository } from "../../project.ts";
import { tilde } from "../../view/places.ts";
import { clean } from "../../view/text.ts";
import { exitCodes, fail, printDone } from "../../with-daemon.ts";
import { gitOf } from "../merge/git.ts";
import { type Programs, programsIn, untrustedOf } from "../merge/programs.ts";
import { worktreesOf } from "../merge/worktrees.ts";
import { pushSettings } from "../pull-request/push-settings.ts";
import { checksAt, type NamedChecks } from "./read.ts";
import { showPrograms, showTrust } from "./trust-text.ts";
import { setTrusted } from "./trusted-store.ts";

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
  const { paths } = world;
  const json = flags.json === true;
  const path = flags.revoke === true ? resolve(world.cwd, directory) : namedDirectory(world.cwd, directory);
  const isRevoked = flags.revoke === true;
  const refused = await refuseAgent(world, json, isRevoked ? "revoke" : "trust", {
    line: `kite check --trust ${isRevoked ? "--revoke " : ""}${shellArgument(path)}`,
    ...defined({ isAgent: around.isAgent }),
  });
  if (refused !== null) return refused;
  const named = await checksAt(world, path, around.find);
  const { repository, file, checks, gates, setup, problems } = named;
  if (isRevoked) {
    const was = await setTrusted(paths, file, null);
    return printDone(world, json, { ok: true, file, revoked: was }, () => [
      `${place(world, repository)}: ${was ? "no longer trusted" : "was not trusted"}`,
    ]);
  }
  if (!json) showTrust(world, named);
  const programs = await programsOf(world, named);
  if (!json) showPrograms(world, programs, named.trusted?.programs ?? new Map());
  const isGone = isNothing(named) && programs.size === 0;
  // What cannot be read is not gone.
  if (isGone && (named.trusted === null || problems.length > 0)) {
    const error = `${file} names no checks; kite check --help shows how to name some`;
    return fail(world, json, "no_checks", error);
  }
  const isNew =
    (named.trust !== "trusted" && named.trust !== "none") ||
    untrustedOf(programs, named.trusted?.programs ?? new Map()).size > 0;
  if (isNew) {
    const ask = around.ask === undefined ? terminalQuestion() : around.ask;
    if (flags.yes !== true && (ask === null || json)) {
      const error = `there is no terminal to ask on; a person runs kite check --trust ${shellArgument(path)}, or passes --yes`;
      return fail(world, json, "not_asked", error);
    }
    const question = isGone ? "Accept that they are gone? [y/N] " : "Trust them? [y/N] ";
    if (flags.yes !== true && !isYes((await ask?.(question)) ?? "")) {
      print(world, [isGone ? "Nothing was changed." : "Not trusted; nothing was changed."]);
      return exitCodes.failed;
    }
    const text = {
      hash: trustHash(named),
      at: world.now(),
      gates,
      checks,
      ...(setup === null ? {} : { setup }),
      ...(programs.size === 0 ? {} : { programs }),
    };
    await setTrusted(paths, file, isGone ? null : text);
  }
  return printDone(
    world,
    json,
    {
      ok: true,
      file,
      checks,
      gates,
      setup,
      ...(programs.size === 0 ? {} : { programs: Object.fromEntries(programs) }),
      problems,
      was: named.trust,
    },
    () => [isNew ? (isGone ? accepted : trustedWords(named)) : already],
  );
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
