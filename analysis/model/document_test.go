package model_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"marple/analysis/model"
	"marple/analysis/model/modeltest"
)

func TestAModelByHandIsAsGoodAsAFittedOne(t *testing.T) {
	doc, err := model.Decode([]byte(`{
  "name": "Godunov", "response": "time", "unit": "us",
  "expression": "(-963 + 0.315*Q)*2.8/ghz + if(8*Q > cache, 0.05*Q, 0)",
  "deviation": "-526 + 0.152*Q",
  "machine": {"ghz": 2.8, "cache": 524288}
}`))
	require.NoError(t, err)
	m := doc.Models[0]
	require.Equal(t, []string{"Q"}, m.Parameters)
	require.Equal(t, model.Given, m.Family)
	q := predict(t, m, 10000)
	require.InDelta(t, -963+3150, q.Mean, 1e-9)
	require.InDelta(t, 994, *q.Deviation, 1e-9)
	require.Nil(t, q.Interval, "nothing is known of its error")

	p, err := m.Predictor(map[string]float64{"ghz": 5.6, "cache": 1000})
	require.NoError(t, err)
	require.InDelta(t, (-963+3150)/2.0+500, p.Mean([]float64{10000}), 1e-9, "another machine")
	require.Zero(t, p.Deviation([]float64{10}), "no deviation is negative")
}

func TestModelFilesGoThereAndBack(t *testing.T) {
	r := random(1)
	for _, family := range []string{"power", "polynomial 2", "piecewise bend", "product and term"} {
		truth := modeltest.Draw(r, family)
		m := fit(t, truth.Samples(r, 4, 0.03), model.Options{})
		data, err := (&model.Document{Schema: model.Schema, Models: []*model.Model{m}}).Encode()
		require.NoError(t, err)
		doc, err := model.Decode(data)
		require.NoError(t, err)
		x := truth.Beyond(2)
		require.Equal(t, predict(t, m, x...), predict(t, doc.Models[0], x...), "with all intervals")
		again, err := doc.Encode()
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))

		math, err := m.MathML()
		require.NoError(t, err)
		doc, err = model.Decode(math)
		require.NoError(t, err)
		read := predict(t, doc.Models[0], x...)
		require.Equal(t, predict(t, m, x...).Mean, read.Mean)
		require.Equal(t, predict(t, m, x...).Deviation, read.Deviation)
	}
}

func TestDamagedModelFiles(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "not a model file: the text ends too early",
		`{"models": [`:                "not a model file: the text ends too early",
		"{\n \"models\": 3}":          "2:12: models: expected a list, found number",
		"{\"models\": [\n}":           "2:1: invalid character '}'",
		`{"schema": 9, "models": []}`: "a file of models of version 9; this Marple reads version 1: use the newer Marple that wrote it",
		`{}`:                          "no expression",
		`{"models": [{"expression": "n"}, {"expression": "2*"}]}`:                                                    "model 2: expression: column 3: expected a number",
		`{"expression": "n", "deviation": {"family": "linear"}}`:                                                     "deviation without an expression",
		`{"expression": "n", "machine": {"ghz": 1e999}}`:                                                             "machine: expected a number, found number 1e999",
		`{"expression": "n", "covariance": [[1]]}`:                                                                   "covariance without a form",
		`{"expression": "n", "form": "c0*n", "coefficients": {"c0": 1}, "covariance": [[1, 2]], "confidence": 0.95}`: "no square matrix",
		`{"expression": "n", "form": "c0*n", "coefficients": {"c0": 1}, "covariance": [[1]], "confidence": 2}`:       "confidence",
		`{"expression": "n", "form": "c0*m", "coefficients": {"c0": 1}, "covariance": [[1]], "confidence": 0.95}`:    "form: m is neither parameter nor coefficient",
		`<math xmlns="http://www.w3.org/1998/Math/MathML"><cn>1</cn><cn>2</cn></math>`:                               "expected one expression, or one each for mean and deviation",
		`<math><apply><eq/><ci>deviation</ci><cn>1</cn></apply></math>`:                                              "no expression for mean",
		`<math><sin/></math>`: "1:13: <sin> is not understood",
	} {
		_, err := model.Decode([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := model.Read(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorContains(t, err, "no such file")
}

func TestDocumentsFollowThePublishedSchema(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(model.SchemaJSON()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("models.json", document))
	schema, err := c.Compile("models.json")
	require.NoError(t, err)
	r := random(2)
	var f model.Fitter
	d := &model.Document{Schema: model.Schema}
	for _, family := range []string{"linear", "sum", "piecewise jump"} {
		d.Models = append(d.Models, f.FitModes(modeltest.Draw(r, family).Samples(r, 3, 0.05), model.Options{})...)
	}
	d.Models = append(d.Models, f.Fit(&model.Samples{Parameters: []string{"n"}}, model.Options{}))
	d.Models[0].Predictions = append(d.Models[0].Predictions, predict(t, d.Models[0], 1e6))
	data, err := d.Encode()
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(instance))
	require.Error(t, schema.Validate(map[string]any{"schema": 2}), "a schema that accepts anything proves nothing")
}

func TestPublishedSchemaIsThatOfTheTypes(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "schema.json")
	command := exec.Command("go", "run", "./analysis/run/schemagen", "./analysis/model", fresh)
	command.Dir = "../.."
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(fresh)
	require.NoError(t, err)
	require.Equal(t, string(model.SchemaJSON()), string(data), "make schema writes it anew")
}

// A model file of any content is refused, or can be evaluated, written and read again.
func FuzzDecode(f *testing.F) {
	r := random(1)
	m := fit(f, modeltest.Draw(r, "sum").Samples(r, 3, 0.05), model.Options{})
	data, err := json.Marshal(&model.Document{Schema: model.Schema, Models: []*model.Model{m}})
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"expression": "2*n^2/ghz", "machine": {"ghz": 2}, "deviation": "0.1*n", "runner_up": {"expression": "n"}}`))
	f.Add([]byte(`<math><apply><eq/><ci>mean</ci><apply><plus/><ci>n</ci><cn>1</cn></apply></apply></math>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := model.Decode(data)
		if err != nil {
			return
		}
		for _, m := range doc.Models {
			p, err := m.Predictor(nil)
			if err != nil {
				continue
			}
			x := make([]float64, len(p.Names()))
			for i := range x {
				x[i] = float64(i) + 2
			}
			p.At(x)
		}
		again, err := doc.Encode()
		require.NoError(t, err)
		_, err = model.Decode(again)
		require.NoError(t, err, string(again))
	})
}
