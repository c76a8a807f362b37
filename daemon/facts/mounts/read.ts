/** Reads what a client says of its mounts, without looking at this machine. Pure. */
import { posix } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { quote } from "../../../protocol/text.ts";
import type { MountPair } from "./view.ts";

/** Why `KITE_MOUNTS` cannot be used. */
export interface WrongPairs {
  readonly wrong: string;
}

/** Returns the pairs of `KITE_MOUNTS`, `/HERE=/THERE` separated by colons, or what is wrong with them. */
export function readPairs(text: string): readonly MountPair[] | WrongPairs {
  const words = text.split(":").filter(word => word.trim() !== "");
  if (words.length > limits.mountPairsMax)
    return { wrong: `it has more than ${limits.mountPairsMax} pairs; name the folders that hold the others` };
  const pairs: MountPair[] = [];
  for (const word of words) {
    const at = word.indexOf("=");
    const [inside, outside] = [pathIn(word.slice(0, at)), pathIn(word.slice(at + 1))];
    if (at === -1 || inside === null || outside === null)
      return { wrong: `${quote(word)} is no pair of absolute paths, /PATH/HERE=/PATH/ON/THE/HOST` };
    const other = pairs.find(pair => pair.inside === inside);
    if (other !== undefined && other.outside !== outside)
      return {
        wrong: `${quote(inside)} stands for both ${quote(other.outside)} and ${quote(outside)}; keep one`,
      };
    if (other === undefined) pairs.push({ inside, outside });
  }
  return pairs;
}

/** An absolute path without `.`, `..` and a slash at its end; null: it is none. */
function pathIn(word: string): string | null {
  const text = word.trim();
  const plain = text.length > 1 ? text.replace(/\/+$/, "") : text;
  return plain.startsWith("/") && posix.normalize(plain) === plain ? plain : null;
}
