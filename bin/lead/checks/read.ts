/** The checks of the project around a directory, with whether a person trusts them. */
import { realpath } from "node:fs/promises";
import { LocalError } from "../../../client/errors.ts";
import { objectIn, textOf } from "../../../daemon/config/config.ts";
import { strangeWorktree } from "../../../daemon/config/off-switch.ts";
import { readSmall } from "../../../daemon/facts/prober.ts";
import type { Repository } from "../../../daemon/facts/repositories.ts";
import {
  type Check,
  checksIn,
  gatesSchema,
  projectFile,
  setupIn,
  type Trust,
  type TrustedFiles,
  type TrustedText,
  trustOf,
} from "../../../daemon/lead/settings.ts";
import { isCode } from "../../../hooks/install/file.ts";
import type { Gates } from "../../../protocol/lead/roles.ts";
import type { ProcessContext } from "../../process-context.ts";
import { type FindRepository, findRepository } from "../../project.ts";
import { ProjectUnknown } from "../../project-unknown.ts";
import { readTrusted } from "./trusted-store.ts";

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
  const asked = fields.get("gates");
  const gates = asked === undefined ? null : gatesSchema.safeParse(asked);
  if (gates?.success === false)
    problems.push(`${file}: gates is ignored: ${gates.error.issues[0]?.message ?? "it is invalid"}`);
  return { checks, gates: gates?.data ?? null, setup, problems };
}

function absent(error: unknown): null {
  if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return null;
  throw error;
}
