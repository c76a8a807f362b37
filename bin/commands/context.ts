import type { Command } from "commander";
import { type ContextFlags, get, list, remove, type SetFlags, set, watch } from "../messages/context.ts";
import { interrupted, type Run } from "../process-context.ts";

const overview = `
Context holds values that the sessions of a project share under keys: a port, a decision, the form of an answer. They
stay when the daemon restarts, except --ephemeral ones. The command acts for the session in
KITE_SESSION or CLAUDE_CODE_SESSION_ID, else for you at this terminal, in the project of the working directory.

Exit codes: 0 done, 1 refused or failed (also if a key is absent), 3 no daemon runs.

Example:
  $ kite context set api.port 4000
  $ kite context get api.port`;

export function add(context: Command, run: Run): void {
  context.addHelpText("after", overview);
  command(context, "get", "print a value as JSON", "$ kite context get api.port")
    .argument("<key>")
    .option("--raw", "print a text exactly as it was set, for a script")
    .action((key: string, flags: ContextFlags & { readonly raw?: boolean }) =>
      run(world => get(world, key, flags)),
    );
  command(
    context,
    "set",
    "share a value: JSON, else a text; - reads standard input",
    "$ kite context set api.port 4000 --ttl 1h",
  )
    .argument("<key>")
    .argument("<value...>")
    .option("--ephemeral", "keep it in memory only: it is gone when the daemon ends")
    .option("--if-version <n>", "only if the key has this version; 0: only if it is absent")
    .option("--ttl <time>", "delete the key after this time: 90s, 15m, 1h, 2d")
    .option("--string", "store the value as text, even if it is JSON")
    .action((key: string, words: readonly string[], flags: SetFlags) =>
      run(world => set(world, key, words.join(" "), flags)),
    );
  command(context, "list", "list the keys", "$ kite context list --prefix api.")
    .option("--prefix <prefix>", "only keys that begin so")
    .action((flags: ContextFlags & { readonly prefix?: string }) => run(world => list(world, flags)));
  command(context, "rm", "delete a key", "$ kite context rm api.port")
    .argument("<key>")
    .option("--if-version <n>", "only if the key has this version")
    .action((key: string, flags: ContextFlags & { readonly ifVersion?: string }) =>
      run(world => remove(world, key, flags)),
    );
  command(context, "watch", "print every key, then every change", "$ kite context watch --prefix api.")
    .option("--prefix <prefix>", "only keys that begin so")
    .action((flags: ContextFlags & { readonly prefix?: string }) =>
      run(world => watch(world, flags, interrupted())),
    );
}

function command(context: Command, name: string, says: string, example: string): Command {
  return context
    .command(name)
    .description(says)
    .option("--project <project>", "another project")
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  ${example}`);
}
