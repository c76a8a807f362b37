/** Which hosts are this machine itself. */
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * Whether a host, in lower case and without brackets, is the machine that names it: `localhost`, 127.0.0.0/8 or ::1. An
 * address in another notation counts as another host: then it is treated with more care, never with less.
 */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host === "localhost";
  return loopback.check(host, family === 4 ? "ipv4" : "ipv6");
}
