/** Git commands that write the index or a commit: whose changes they may include. */
import { has, type Options, readArguments } from "./options.ts";
import { all, index, only, onlyOrAll, operands, type Rule, takeAll } from "./reach.ts";

const unclear = { paths: null, unclear: true } as const;

/** A named path is added as it is, and a folder may have a file's name: any form may include others' changes. */
const add: Rule = args => {
  const given = readArguments(args, { long: ["--chmod", "--pathspec-from-file"] });
  const paths = operands(given);
  if (has(given, "-n", "--dry-run", "--refresh")) return null;
  const isPicking = has(
    given,
    "-p",
    "--patch",
    "-i",
    "--interactive",
    "-e",
    "--edit",
    "-N",
    "--intent-to-add",
  );
  // With -N it adds new files to the index without their content.
  if (isPicking) return { ...index("add", onlyOrAll(paths)), untracked: has(given, "-N", "--intent-to-add") };
  const ignored = has(given, "-f", "--force") ? ({ ignored: true } as const) : {};
  const whole = has(given, "-A", "--all", "--no-ignore-removal") ? "add -A" : null;
  const name = whole ?? (has(given, "-u", "--update") ? "add -u" : "add");
  const isKnownOnly = name === "add -u" || has(given, "--renormalize");
  if (has(given, "--pathspec-from-file"))
    return { ...takeAll(name, unclear, false, !isKnownOnly), ...ignored };
  if (paths.length > 0) return { ...takeAll(name, only(paths), false, !isKnownOnly), ...ignored };
  if (name === "add" && !isKnownOnly) return null;
  return { ...takeAll(name, all, false, !isKnownOnly), ...ignored };
};

const committing: Options = {
  short: "mFCct",
  attached: "Su",
  long: [
    "--message",
    "--file",
    "--reuse-message",
    "--reedit-message",
    "--template",
    "--author",
    "--date",
    "--cleanup",
    "--fixup",
    "--squash",
    "--trailer",
    "--pathspec-from-file",
  ],
};

/** With paths it commits these alone, whatever else is staged. */
const commit: Rule = args => {
  const given = readArguments(args, committing);
  const paths = operands(given);
  if (has(given, "--dry-run", "--short", "--porcelain", "--long")) return null;
  const includes = has(given, "-i", "--include");
  if (has(given, "-a", "--all")) return takeAll("commit -a", all, true);
  if (has(given, "--pathspec-from-file")) return takeAll("commit", unclear, includes);
  if (has(given, "-p", "--patch", "--interactive")) return index("commit", onlyOrAll(paths), true);
  // With --include it also commits whatever else is staged.
  if (paths.length > 0 && includes)
    return { ...takeAll("commit -i", only(paths), true), also: index("commit", all, true) };
  if (paths.length > 0) return takeAll("commit", only(paths));
  return index("commit", all, !has(given, "-o", "--only"));
};

const updateIndex: Rule = args => {
  const given = readArguments(args, { long: ["--chmod", "--cacheinfo"] });
  const paths = operands(given);
  const isLooking = paths.length === 0 && has(given, "--refresh", "--really-refresh");
  if (args.length === 0 || isLooking) return null;
  const isRemoving = has(given, "--force-remove");
  const reach = index(isRemoving ? "update-index --force-remove" : "update-index", onlyOrAll(paths));
  return { ...reach, untracked: has(given, "--add") };
};

export const indexRules: ReadonlyMap<string, Rule> = new Map([
  ["add", add],
  ["stage", add],
  ["commit", commit],
  ["update-index", updateIndex],
]);
