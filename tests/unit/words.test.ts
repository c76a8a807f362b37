import { expect, it } from "vitest";
import { nearPath, nearPathsIn } from "../../protocol/text.ts";

it.each([
  ["/home/dev/shop/src/a.ts", "/home/dev/shop", "src/a.ts"],
  ["/home/dev/shop/a.ts", "/home/dev/shop/src", "../a.ts"],
  ["/home/dev/pay/src/a.ts", "/home/dev/shop", "../pay/src/a.ts"],
  ["/home/dev/shop-pay/a.ts", "/home/dev/shop", "../shop-pay/a.ts"],
  ["/home/dev/shop/src/", "/home/dev/shop", "src/"],
  ["/home/dev/shop", "/home/dev/shop", "/home/dev/shop"],
  ["/home/dev", "/home/dev/shop", "/home/dev"],
  ["/home/a.ts", "/home/dev/shop/src/deep", "/home/a.ts"],
  ["/srv/a.ts", "/home/dev", "/srv/a.ts"],
  ["/etc/hosts", "/", "etc/hosts"],
  ["/etc/hosts", "", "/etc/hosts"],
  ["src/a.ts", "/home/dev", "src/a.ts"],
])("%s is from %s: %s", (file, cwd, near) => {
  expect(nearPath(file, cwd)).toBe(near);
});

it.each([
  ["codeView: what is in /p/src/a.ts now (sees)", "codeView: what is in src/a.ts now (sees)"],
  ['/p/a.ts and "/p/b.ts"', 'a.ts and "b.ts"'],
  ["/far/p/a.ts and /p and /pp/a.ts", "/far/p/a.ts and /p and /pp/a.ts"],
])("in %j files below the directory are named from there", (sentence, near) => {
  expect(nearPathsIn(sentence, "/p")).toBe(near);
  expect(nearPathsIn(sentence, "/")).toBe(sentence);
});
