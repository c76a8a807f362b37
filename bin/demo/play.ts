/** The script of `kite demo`. */
import { setTimeout as pause } from "node:timers/promises";
import { duration } from "../view/text.ts";
import { DemoSession, type Stage } from "./session.ts";

/** The demo's `yieldMs`, short because people watch. */
export const demoYieldMs = 4_000;
/** Pause in milliseconds in which people read the picture. */
const beatMs = 900;

const names = ["ada", "ben", "cleo", "dan"] as const;

/**
 * Plays four sessions over two files: one waits for another's turn to end, one gets a lock that its holder no longer
 * uses, one is killed and its lock is granted to a waiter. Returns four lines with the measured times.
 */
export async function play(stage: Stage): Promise<string[]> {
  const [ada, ben, cleo, dan] = names.map(name => new DemoSession(stage, name)) as [
    DemoSession,
    DemoSession,
    DemoSession,
    DemoSession,
  ];
  const all = [ada, ben, cleo, dan];
  try {
    await Promise.all(all.map(session => session.begin()));
    await Promise.all(all.map(session => session.prompt()));
    await pause(beatMs);

    await ada.edit("cart.ts");
    await pause(beatMs);
    const bensEdit = ben.edit("cart.ts");
    await pause(beatMs);
    await ada.edit("cart.ts");
    await pause(beatMs);
    await ada.stop();
    const ben1 = await bensEdit;
    await pause(beatMs);

    await cleo.edit("price.ts");
    const dan1 = await dan.edit("price.ts");
    await pause(beatMs);

    await ben.edit("cart.ts");
    await ada.prompt();
    const adasEdit = ada.edit("cart.ts");
    await pause(beatMs);
    const killedAt = performance.now();
    await ben.kill();
    const ada2 = await adasEdit;
    const passedMs = performance.now() - killedAt;
    await pause(beatMs);

    await Promise.all([ada, cleo, dan].map(session => session.stop()));
    await Promise.all([ada, cleo, dan].map(session => session.end()));
    const refused = [ben1, dan1, ada2].filter(edit => !edit.allowed).length;
    return [
      `ben waited ${duration(ben1.waitedMs)} for cart.ts and got it as soon as ada's turn ended.`,
      `dan waited ${duration(dan1.waitedMs)} for price.ts: cleo no longer edited it, so Kite granted it to dan.`,
      `ben was killed while holding cart.ts; ${duration(passedMs)} later ada got it.`,
      `Every edit is in its file: ${refused === 0 ? "Kite refused none, and no edit was overwritten" : `${refused} were refused`}.`,
    ];
  } finally {
    await Promise.all(all.map(session => session.kill()));
  }
}
