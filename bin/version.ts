import metadata from "../package.json" with { type: "json" };

/** This program's version, as in package.json. */
export const version: string = metadata.version;

/** Returns true if version `a` is strictly older than `b`; a pre-release is older than its release. */
export function isOlder(a: string, b: string): boolean {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (left.numbers[i] ?? 0) - (right.numbers[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  if (left.pre === right.pre) return false;
  if (left.pre === "" || right.pre === "") return right.pre === "";
  return left.pre.localeCompare(right.pre, "en", { numeric: true }) < 0;
}

function partsOf(text: string): { numbers: number[]; pre: string } {
  const [release = "", ...pre] = (text.split("+")[0] ?? "").split("-");
  return { numbers: release.split(".").map(Number), pre: pre.join("-") };
}
