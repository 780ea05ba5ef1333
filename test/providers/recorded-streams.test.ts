import { readRecordings, streamConformance } from '@guardloop/testing/conformance';
import { fetchSides, readers, sides } from './sides.js';
import { streamFolders } from './stream-folders.js';

for (const side of [...sides, ...fetchSides]) {
  const recordings = readRecordings(streamFolders[side.dialect]);
  streamConformance(side.name, {
    model: (send) => side.model({ url: 'https://provider.test', fetch: send }),
    // The reading is the adapter's own, whatever sends the request: there a few show that the bytes come through.
    recordings: readers.includes(side)
      ? recordings
      : recordings.filter(({ name }) => /^(text|interleaved|error-first|overloaded)/.test(name)),
    cuts: readers.includes(side) ? 60 : 5,
  });
}
