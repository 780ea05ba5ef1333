import { readRecordings, streamConformance } from '@guardloop/testing/conformance';
import { sides } from './sides.js';
import { streamFolders } from './stream-folders.js';

for (const side of sides) {
  streamConformance(side.name, {
    model: (send) => side.model({ url: 'http://127.0.0.1:9', fetch: send }),
    recordings: readRecordings(streamFolders[side.dialect]),
    // The reading is the adapter's own, whatever SDK sends the request.
    cuts: side.name.endsWith('7') ? 5 : 60,
  });
}
