/** The checks of the project around a directory, with whether a person trusts them. */
import { type Check, checksIn } from "../../daemon/config/checks.ts";
import { objectIn, textOf } from "../../daemon/config/object-file.ts";
import { projectFile, type Trust, type TrustedFiles, trustOf } from "../../daemon/config/trusted-file.ts";
import { readSmall } from "../../daemon/facts/prober.ts";
import type { Repository } from "../../daemon/facts/repositories.ts";
import type { ProcessContext } from "../process-context.ts";
import { type FindRepository, findRepository, ProjectUnknown } from "../project.ts";
import { readTrusted } from "./trusted-store.ts";

export interface NamedChecks {
  readonly repository: Repository;
  /** The project's file, whether or not it exists. */
  readonly file: string;
  readonly checks: readonly Check[];
  /** A sentence for each part of the file that does not count. */
  readonly problems: readonly string[];
  readonly trust: Trust;
}

/** Reads the project's file once. Throws `ProjectUnknown`, or `InstallFailed` if `trusted.json` is damaged. */
export async function checksAt(
  { paths }: Pick<ProcessContext, "paths">,
  directory: string,
  find: FindRepository = findRepository,
): Promise<NamedChecks> {
  const repository = await find(directory);
  if ("unreachable" in repository) {
    throw new ProjectUnknown(`could not determine the project of ${directory}: ${repository.unreachable}`);
  }
  const file = projectFile(repository.project);
  // In the home directory, the user's file and the project's are the same.
  const { checks, problems } = file === paths.config ? { checks: [], problems: [] } : await checksOf(file);
  return { repository, file, checks, problems, trust: trustOf(readTrusted(paths.trusted), file, checks) };
}

/** Returns whether the text that a file has now is trusted. */
export async function trustNow(file: string, trusted: TrustedFiles): Promise<Trust> {
  return trustOf(trusted, file, (await checksOf(file)).checks);
}

async function checksOf(file: string): Promise<Pick<NamedChecks, "checks" | "problems">> {
  const problems: string[] = [];
  const text = await textOf(file, readSmall, problems);
  const fields = text === null ? new Map<string, unknown>() : objectIn(text, file, problems);
  return { checks: checksIn(fields.get("checks"), file, problems), problems };
}
