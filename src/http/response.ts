/** Returns the decoded body, or undefined once it has more bytes than the maximum. */
export async function readBody(
  { body }: { body: AsyncIterable<Uint8Array> | null },
  maximum: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maximum) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
