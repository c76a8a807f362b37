/** `kite check --trust --list`: what is trusted, and whether it still is so. */
import { dirname } from "node:path";
import { sawFile } from "../../off/changed-files.ts";
import { type ProcessContext, print, printJson, screenOf } from "../../process-context.ts";
import { tilde } from "../../view/places.ts";
import { table } from "../../view/table.ts";
import { clean, clock } from "../../view/text.ts";
import { exitCodes } from "../../with-daemon.ts";
import { trustNow } from "./read.ts";
import { readTrusted } from "./trusted-store.ts";

/** Returns the exit code. */
export async function listTrusted(world: ProcessContext, json: boolean): Promise<number> {
  const screen = screenOf(world);
  const trusted = readTrusted(world.paths.trusted);
  const files = await Promise.all(
    [...trusted].map(async ([file, { at }]) => ({ file, at, trust: await trustNow(file, trusted) })),
  );
  if (json) {
    printJson(world, { files });
    return exitCodes.done;
  }
  const rows = files.map(({ file, at, trust }) => [
    clean(tilde(dirname(dirname(file)), screen.home)),
    trust === "trusted" ? "trusted" : "changed since",
    { text: clock(at, screen.now), style: "dim" as const },
  ]);
  print(
    world,
    rows.length === 0 ? ["No checks are trusted."] : table(rows, [{ min: 8, cut: "start" }, {}, {}], screen),
  );
  await sawFile(world, "trusted");
  return exitCodes.done;
}
