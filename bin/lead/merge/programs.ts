/**
 * Programs that the repository's own git configuration names: any agent could have written it, so none of them runs in a
 * merge unless a person trusted it. What a person's own configuration names (global, system) runs as always.
 *
 * A program that is not trusted is replaced by a line that fails and says so, and never left out: a merge with a filter
 * switched off would commit other contents.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { LocalError } from "../../../client/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import { type Git, must, namesIn } from "./git.ts";

/** By the name of its setting, such as `filter.lfs.smudge`: the program's line. */
export type Programs = ReadonlyMap<string, string>;

/** A merge needs a program that nobody trusted. */
export class UntrustedProgram extends LocalError {
  override readonly name = "UntrustedProgram";
}

const isProgram =
  /^(?:filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|gpg\.(?:\w+\.)?program|gpg\.ssh\.defaultkeycommand)$/s;

/** Returns the programs of the repository's own configuration, as it counts in these folders. */
export async function programsIn(git: Git, folders: readonly string[]): Promise<Programs> {
  const found = new Map<string, string>();
  for (const cwd of [null, ...folders]) {
    const at = cwd === null ? {} : { cwd };
    const listed = namesIn(await must(git, ["config", "--list", "--show-scope", "-z"], at));
    for (let n = 0; n + 1 < listed.length; n += 2) {
      const [scope, entry = ""] = listed.slice(n, n + 2);
      const end = entry.indexOf("\n");
      const key = end === -1 ? entry : entry.slice(0, end);
      if ((scope === "local" || scope === "worktree") && isProgram.test(key))
        found.set(key, end === -1 ? "" : entry.slice(end + 1));
    }
  }
  return found;
}

/** Returns those that a person did not trust as they are. */
export function untrustedOf(programs: Programs, trusted: Programs): Programs {
  return new Map([...programs].filter(([key, line]) => trusted.get(key) !== line));
}

/**
 * Returns git that runs none of these programs. A command that needs one throws `UntrustedProgram`. `note` is a file beside
 * which nobody works: the replacing lines write there which program was needed.
 */
export function gitWithout(git: Git, untrusted: Programs, note: string): Git {
  const all = [...untrusted];
  if (all.length === 0) return git;
  const odd = all.find(([key]) => key.includes("="));
  if (odd !== undefined) throw refused(odd);
  const overrides = all.flatMap(([key], n) => overridesOf(key, n));
  return async (args, options) => {
    rmSync(note, { force: true });
    const ran = await git([...overrides, ...args], { ...options, refusals: note });
    if (!existsSync(note)) return ran;
    const first = all[Number.parseInt(readFileSync(note, "utf8"), 10)];
    rmSync(note, { force: true });
    throw refused(first ?? ["a program", ""]);
  };
}

/** Throws `UntrustedProgram` if a commit would be signed by one of them: git starts that one without a shell. */
export async function refuseSigner(git: Git, untrusted: Programs): Promise<void> {
  const signer = [...untrusted].find(([key]) => key.startsWith("gpg."));
  if (signer === undefined) return;
  const { code, out } = await git(["config", "--type=bool", "--get", "commit.gpgSign"]);
  if (code === 0 && out.trim() === "true") throw refused(signer);
}

function overridesOf(key: string, n: number): string[] {
  // A program for signatures is no shell line: none has this name, so git fails.
  if (key.startsWith("gpg.")) return ["-c", `${key}=/nonexistent/untrusted`];
  const line = ["-c", `${key}=echo ${n} >> "$KITE_REFUSED"; exit 1`];
  const [filter] = /^filter\..+(?=\.)/s.exec(key) ?? [];
  return filter === undefined ? line : [...line, "-c", `${filter}.required=true`];
}

function refused([key, line]: readonly [string, string]): UntrustedProgram {
  return new UntrustedProgram(
    `the merge needs ${plain(key, limits.quoteChars)} of the repository's own git configuration (${plain(line, limits.quoteChars)}), ` +
      "which no person has trusted; read and trust it: kite check --trust",
  );
}
