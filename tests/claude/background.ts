import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Programs } from "./world.ts";

/** Fills `bin` of a home with the client and `kite`. Kite runs no program of a node_modules folder, where the tests keep the client. */
export function installPrograms(home: string, { claude, kite }: Programs): void {
  const bin = join(home, "bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(claude, join(bin, "claude"));
  writeFileSync(join(bin, "kite"), `#!/bin/sh\nexec '${process.execPath}' '${kite}' "$@"\n`, { mode: 0o755 });
}
