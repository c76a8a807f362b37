/** The script of `kite demo`. */
import { setTimeout as pause } from "node:timers/promises";
import type { Act } from "./acts.ts";
import { DemoSession, type Stage } from "./session.ts";

/** The demo's `yieldMs`, short because people watch. */
export const demoYieldMs = 4_000;
/** Pause in milliseconds in which people read a caption and what follows from it. */
const beatMs = 900;

/** The files that the demo's sessions edit. */
export const demoFiles = ["cart.ts", "price.ts"] as const;

const names = ["ada", "ben", "cleo", "dan"] as const;

/**
 * Plays four sessions over two files: one waits for another's turn to end, one gets a lock that its holder no longer
 * uses, one is killed and its lock is granted to a waiter. Calls `caption` before each step; returns the edits in the
 * order of their requests.
 */
export async function play(stage: Stage, caption: (text: string) => void): Promise<readonly Act[]> {
  const [ada, ben, cleo, dan] = names.map(name => new DemoSession(stage, name)) as [
    DemoSession,
    DemoSession,
    DemoSession,
    DemoSession,
  ];
  const all = [ada, ben, cleo, dan];
  const acts: Promise<Act>[] = [];
  const edit = (who: DemoSession, file: (typeof demoFiles)[number]): Promise<Act> => {
    const act = who.edit(file);
    acts.push(act);
    return act;
  };
  const step = async (text: string): Promise<void> => {
    caption(text);
    await pause(beatMs);
  };
  try {
    await step("Four sessions begin a turn in one checkout: ada, ben, cleo and dan.");
    await Promise.all(all.map(session => session.begin()));
    await Promise.all(all.map(session => session.prompt()));

    await step("ada edits cart.ts.");
    await edit(ada, "cart.ts");
    await step("ben wants to edit it, too. His edit waits while ada's turn lasts.");
    const bensEdit = edit(ben, "cart.ts");
    await step("ada edits cart.ts once more.");
    await edit(ada, "cart.ts");
    await step("ada's turn ends.");
    await ada.stop();
    await bensEdit;

    await step("cleo edits price.ts, and goes on with other work in the same turn.");
    await edit(cleo, "price.ts");
    await step(`dan wants to edit it. Kite waits until cleo left it alone for ${demoYieldMs / 1000} s.`);
    await edit(dan, "price.ts");

    await step("ben edits cart.ts again, and ada waits for it.");
    await edit(ben, "cart.ts");
    await ada.prompt();
    const adasEdit = edit(ada, "cart.ts");
    await step("Somebody kills ben's process in the middle of his turn.");
    await ben.kill();
    await adasEdit;

    await step("The others end.");
    await Promise.all([ada, cleo, dan].map(session => session.stop()));
    await Promise.all([ada, cleo, dan].map(session => session.end()));
    return await Promise.all(acts);
  } finally {
    await Promise.all(all.map(session => session.kill()));
    // A play that failed says why; the edits that were under way then have nothing to add.
    await Promise.allSettled(acts);
  }
}
