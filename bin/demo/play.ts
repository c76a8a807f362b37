import { setTimeout as pause } from "node:timers/promises";
import { duration } from "../view/text.ts";
import { DemoSession, type Stage } from "./session.ts";

/** So long an untouched file waits before it passes on, in the demo: people watch. */
export const demoYieldMs = 4_000;
/** A moment to read the picture. */
const beatMs = 900;

const names = ["ada", "ben", "cleo", "dan"] as const;

/**
 * Four sessions over two files: one waits for another's turn to end, one takes over from one that stopped caring, one
 * is killed and its lock passes on. Returns what happened, in four lines, from what was measured.
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
      `ben waited ${duration(ben1.waitedMs)} for cart.ts and got it in the moment ada's turn ended.`,
      `dan waited ${duration(dan1.waitedMs)} for price.ts: cleo did not touch it any more, so it passed on.`,
      `ben was killed while holding cart.ts; ${duration(passedMs)} later ada had it.`,
      `Every edit is in its file: ${refused === 0 ? "nobody was refused, nothing was overwritten" : `${refused} were refused`}.`,
    ];
  } finally {
    await Promise.all(all.map(session => session.kill()));
  }
}
