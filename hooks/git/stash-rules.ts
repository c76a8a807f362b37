/** `git stash`: which uncommitted work it puts away, and what it brings back. */
import { asValue, type Value } from "../shell/variables.ts";
import { overIgnored, putting } from "./change-rules.ts";
import { has, type Options, readArguments } from "./options.ts";
import { all, onlyOrAll, operands, type Reach, type Rule, tree } from "./reach.ts";

/** Reads the words after `git stash`. */
export const stash: Rule = args => {
  const [first] = args;
  if (first !== undefined && !first.known) return { ...tree("stash"), unclear: true };
  const isPush = first === undefined || first.text.startsWith("-");
  const sub = isPush ? "push" : first.text;
  switch (sub) {
    case "push":
      return pushed(isPush ? args : args.slice(1));
    case "save":
      return putting({ ...tree("stash save", all, isUntracked(args)), ...ignoredToo(args) }, []);
    case "pop":
    case "apply":
      return applied(sub, args.slice(1));
    case "branch":
    case "drop":
    case "clear":
      return tree(`stash ${sub}`);
    default:
      return null;
  }
};

const stashed: Options = { short: "m", long: ["--message", "--pathspec-from-file"] };

function pushed(args: readonly Value[]): Reach {
  const given = readArguments(args, stashed);
  const isUnclear = has(given, "--pathspec-from-file");
  const paths = isUnclear ? ({ paths: null, unclear: true } as const) : onlyOrAll(operands(given));
  return putting({ ...tree("stash push", paths, isUntracked(args)), ...ignoredToo(args) }, []);
}

/** The files of the stash overwrite ignored files. */
function applied(sub: string, args: readonly Value[]): Reach {
  const [which = asValue("0")] = readArguments(args, {}).words;
  const name = /^\d+$/.test(which.text) ? asValue(`stash@{${which.text}}`) : which;
  return overIgnored(tree(`stash ${sub}`), name);
}

function ignoredToo(args: readonly Value[]): { readonly ignored?: true } {
  return has(readArguments(args, stashed), "-a", "--all") ? { ignored: true } : {};
}

function isUntracked(args: readonly Value[]): boolean {
  return has(readArguments(args, stashed), "-u", "--include-untracked", "-a", "--all");
}
