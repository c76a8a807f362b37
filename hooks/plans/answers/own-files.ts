/** Asks whether a step would write Kite's own files, and words the refusal: with the command by which a person changes them. */
import { limits } from "../../../protocol/limits.ts";
import { quote } from "../../../protocol/text.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import type { Asking } from "../points.ts";
import { type Answer, deny } from "./answer.ts";
import type { Edit, Edits } from "./lock.ts";
import { outcomeOf } from "./outcome.ts";

const did = "check_own_files";

export const writeOwnFiles: Asking<Pick<Edit, "tool" | "file" | "cwd">> = {
  did,
  asks: ({ file, cwd }, actor) => ({ do: did, ...actor, cwd, files: [file] }),
  answer: ({ tool }, outcomes, rest) => refusedOr(`this ${tool}`, outcomes, rest),
};

export const patchOwnFiles: Asking<Pick<Edits, "tool" | "files" | "cwd">> = {
  did,
  asks: ({ files, cwd }, actor) => ({ do: did, ...actor, cwd, files }),
  answer: ({ tool }, outcomes, rest) => refusedOr(`this ${tool}`, outcomes, rest),
};

export const shellOwnFiles: Asking<{ readonly cwd: string; readonly written: readonly string[] }> = {
  did,
  asks: ({ cwd, written }, actor) =>
    written.length === 0 ? null : { do: did, ...actor, cwd, files: written },
  answer: (_step, outcomes, rest) => refusedOr("this command line", outcomes, rest),
};

function refusedOr(what: string, outcomes: readonly HookOutcome[], rest: () => Answer): Answer {
  const found = outcomeOf(outcomes, did);
  if (found === undefined) return rest();
  const { name, path } = found;
  return deny(
    [
      `Kite: ${what} did not run: ${quote(path, limits.pathBytes)} is Kite's own, and no agent changes it.`,
      `What to do: ${wayOf(name)}`,
    ].join("\n"),
  );
}

/** By the first part of a file's name: the commands by which a person changes it. */
const commands: Readonly<Record<string, string>> = {
  "trusted.json": "kite check --trust, in the project",
  "config.json": "kite config set KEY VALUE",
  off: "kite off, kite on",
  "off.json": "kite off, kite on",
  down: "kite down, kite up",
  bin: "kite install",
  "installs.json": "kite install, kite uninstall",
  "servers.json": "kite install, kite uninstall",
  "plugins.json": "kite plugin",
  journal: "kite repair",
};

function wayOf(name: string): string {
  const [first = ""] = name.split("/");
  const command = Object.hasOwn(commands, first) ? commands[first] : undefined;
  return command === undefined
    ? "leave it: Kite's programs alone write it. If something is wrong with it, tell your user to run kite doctor."
    : `ask your user to change it, in a terminal of their own: ${command}`;
}
