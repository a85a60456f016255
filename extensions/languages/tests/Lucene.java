import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * What Lucene does with lines of standard input: the class of an analyzer, a role and a text, separated by tabs.
 *
 * Prints for each "text" its tokens, separated by tabs. For each "query" the documents of that analyzer, by their numbers, with their
 * scores of BM25, k1 0.9 and b 0.4, as a bag of words; and then those with weights of the query as a document.
 */
public class Lucene {
  static List<String> tokens(Analyzer analyzer, String text) throws IOException {
    List<String> found = new ArrayList<>();
    try (TokenStream stream = analyzer.tokenStream("", text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) found.add(term.toString());
      stream.end();
    }
    return found;
  }

  static String search(IndexSearcher searcher, Map<String, Integer> counts, int length, boolean asDocument) throws IOException {
    IndexReader reader = searcher.getIndexReader();
    int documents = reader.getDocCount("contents");
    float average = reader.getSumTotalTermFreq("contents") / (float) documents, k1 = 0.9f, b = 0.4f;
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (Map.Entry<String, Integer> each : counts.entrySet()) {
      Term term = new Term("contents", each.getKey());
      float weight = each.getValue();
      if (asDocument) {
        int found = reader.docFreq(term);
        float idf = (float) Math.log(1 + (documents - found + 0.5) / (found + 0.5));
        weight = idf * (weight / (weight + k1 * (1 - b + b * (length / average))));
      }
      query.add(new BoostQuery(new TermQuery(term), weight), BooleanClause.Occur.SHOULD);
    }
    StringBuilder hits = new StringBuilder();
    for (ScoreDoc hit : searcher.search(query.build(), documents).scoreDocs) hits.append(" ").append(hit.doc).append(":").append(hit.score);
    return hits.toString().trim();
  }

  public static void main(String[] none) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    Map<String, Analyzer> analyzers = new HashMap<>();
    Map<String, IndexWriter> writers = new HashMap<>();
    for (String line; (line = in.readLine()) != null; ) {
      String[] parts = line.split("\t", 3);
      if (!analyzers.containsKey(parts[0])) {
        Analyzer made = (Analyzer) Class.forName("org.apache.lucene.analysis." + parts[0]).getConstructor().newInstance();
        analyzers.put(parts[0], made);
        writers.put(parts[0], new IndexWriter(new ByteBuffersDirectory(), new IndexWriterConfig(made).setSimilarity(new BM25Similarity(0.9f, 0.4f))));
      }
      Analyzer analyzer = analyzers.get(parts[0]);
      List<String> found = tokens(analyzer, parts[2]);
      if (parts[1].equals("text")) {
        Document document = new Document();
        document.add(new TextField("contents", parts[2], Field.Store.NO));
        writers.get(parts[0]).addDocument(document);
        out.println(String.join("\t", found));
      } else {
        Map<String, Integer> counts = new TreeMap<>();
        for (String token : found) counts.merge(token, 1, Integer::sum);
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(writers.get(parts[0])));
        searcher.setSimilarity(new BM25Similarity(0.9f, 0.4f));
        out.println(search(searcher, counts, found.size(), false) + "\t" + search(searcher, counts, found.size(), true));
      }
    }
    out.flush();
  }
}
