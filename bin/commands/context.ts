import type { Command } from "commander";
import type { ContextFlags, SetFlags } from "../messages/context.ts";
import type { ProcessContext } from "../process-context.ts";

const overview = `
Context is what the sessions of a project share under a key: a port, a decision, the shape of an answer. It lives in
the daemon's memory and is gone when that starts again, unless it is --durable. Who acts is the session in KITE_SESSION
or CLAUDE_CODE_SESSION_ID, else you at this terminal; always in the project of the working directory.

Exit codes: 0 done, 1 refused or failed (as where a key is absent), 3 no daemon runs.

Example:
  $ kite context set api.port 4000
  $ kite context get api.port`;

export function add(program: Command): void {
  const context = program
    .command("context")
    .description("share small values with the sessions of a project")
    .addHelpText("after", overview);
  command(context, "get", "print a value as JSON", "$ kite context get api.port")
    .argument("<key>")
    .option("--raw", "print a text exactly as it was set, for a script")
    .action(async (key: string, flags: ContextFlags & { readonly raw?: boolean }) => {
      const { get } = await import("../messages/context.ts");
      await run(world => get(world, key, flags));
    });
  command(
    context,
    "set",
    "share a value: JSON, else a text; - reads it",
    "$ kite context set api.port 4000 --ttl 1h",
  )
    .argument("<key>")
    .argument("<value...>")
    .option("--durable", "keep it over restarts; the answer comes when it is safe on disk")
    .option("--if-version <n>", "only where the key has this version; 0: only where it is absent")
    .option("--ttl <time>", "gone by itself after this: 90s, 15m, 1h, 2d")
    .option("--string", "take the value for a text, whatever it looks like")
    .action(async (key: string, words: readonly string[], flags: SetFlags) => {
      const { set } = await import("../messages/context.ts");
      await run(world => set(world, key, words.join(" "), flags));
    });
  command(context, "list", "list the keys", "$ kite context list --prefix api.")
    .option("--prefix <prefix>", "only keys that begin so")
    .action(async (flags: ContextFlags & { readonly prefix?: string }) => {
      const { list } = await import("../messages/context.ts");
      await run(world => list(world, flags));
    });
  command(context, "rm", "delete a key", "$ kite context rm api.port")
    .argument("<key>")
    .option("--if-version <n>", "only where the key has this version")
    .action(async (key: string, flags: ContextFlags & { readonly ifVersion?: string }) => {
      const { remove } = await import("../messages/context.ts");
      await run(world => remove(world, key, flags));
    });
  command(context, "watch", "print every key, then every change", "$ kite context watch --prefix api.")
    .option("--prefix <prefix>", "only keys that begin so")
    .action(async (flags: ContextFlags & { readonly prefix?: string }) => {
      const { watch } = await import("../messages/context.ts");
      const ending = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => ending.abort());
      await run(world => watch(world, flags, ending.signal));
    });
}

function command(context: Command, name: string, says: string, example: string): Command {
  return context
    .command(name)
    .description(says)
    .option("--project <project>", "another project")
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  ${example}`);
}

async function run(work: (world: ProcessContext) => Promise<number>): Promise<void> {
  const { processWorld } = await import("../process-context.ts");
  process.exitCode = await work(processWorld());
}
