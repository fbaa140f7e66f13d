package estimator_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/estimator"
)

// weightsOf trains a linear model of one column on three examples for one step and prints the column's weights, which
// tell which categories occurred.
func weightsOf(column estimator.FeatureColumn, features map[string]any) {
	dir, remove := folder()
	defer remove()
	e, err := estimator.NewLinearRegressor(estimator.LinearRegressor{
		FeatureColumns: []estimator.FeatureColumn{column}, Optimizer: "SGD", Config: estimator.RunConfig{ModelDir: dir},
	})
	check(err)
	check(e.Train(context.Background(), func(distribute.InputContext) (data.Dataset, error) {
		return data.Arrays(features, []float32{1, 1, 1}), nil
	}))
	w, err := e.VariableValue("linear/linear_model/" + column.ColumnName() + "/weights")
	check(err)
	fmt.Printf("%s %.2f\n", column.ColumnName(), w.Elements())
}

func ExampleNumericColumn() {
	weightsOf(estimator.NumericColumn{Key: "x", Shape: []int{2}}, map[string]any{"x": [][]float32{{1, 0}, {1, 0}, {1, 3}}})
	fmt.Println(estimator.NumericColumn{Key: "x", Shape: []int{0}}.Validate())
	// Output:
	// x [0.40 0.40]
	// estimator: NumericColumn: shape dimensions must be greater than 0. shape: (0,), key: x
}

func ExampleBucketizedColumn() {
	age := estimator.BucketizedColumn{Source: estimator.NumericColumn{Key: "age"}, Boundaries: []float64{18, 65}}
	weightsOf(age, map[string]any{"age": [][]float32{{17}, {65}, {80}}})
	// Output: age_bucketized [0.13 0.00 0.27]
}

func ExampleCategoricalColumnWithVocabularyList() {
	city := estimator.CategoricalColumnWithVocabularyList{Key: "city", Vocabulary: []string{"Oslo", "Rome"}, NumOOVBuckets: 1}
	weightsOf(city, map[string]any{"city": [][]string{{"Rome"}, {"Rome"}, {"Paris"}}})
	// Output: city [0.00 0.27 0.13]
}

func ExampleCategoricalColumnWithIdentity() {
	weightsOf(estimator.CategoricalColumnWithIdentity{Key: "id", Buckets: 3}, map[string]any{"id": [][]int64{{2}, {-1}, {0}}})
	// Output: id [0.13 0.00 0.13]
}

func ExampleCategoricalColumnWithHashBucket() {
	weightsOf(estimator.CategoricalColumnWithHashBucket{Key: "id", HashBucketSize: 3, Integers: true}, map[string]any{"id": [][]int64{{20}, {20}, {20}}})
	// Output: id [0.00 0.00 0.40]
}

func ExampleCrossedColumn() {
	cross := estimator.CrossedColumn{Keys: []any{"city", "day"}, HashBucketSize: 5}
	weightsOf(cross, map[string]any{"city": [][]string{{"Rome"}, {"Rome"}, {"Oslo"}}, "day": [][]string{{"Monday"}, {"Monday"}, {"Friday"}}})
	// Output: city_X_day [0.00 0.00 0.27 0.13 0.00]
}

func ExampleIndicatorColumn() {
	id := estimator.CategoricalColumnWithIdentity{Key: "id", Buckets: 2}
	column := estimator.IndicatorColumn{Categorical: id}
	fmt.Println(column.ColumnName(), column.Width())
	weightsOf(column, map[string]any{"id": [][]int64{{1, 1}, {1, 0}, {0, 0}}})
	// Output:
	// id_indicator 2
	// id_indicator [0.40 0.40]
}

func ExampleEmbeddingColumn() {
	id := estimator.CategoricalColumnWithIdentity{Key: "id", Buckets: 1000}
	column := estimator.EmbeddingColumn{Categorical: id, Dimension: 8, Combiner: "sqrtn"}
	fmt.Println(column.ColumnName(), column.Width(), column.Validate())
	// Output: id_embedding 8 <nil>
}

func ExampleNewDNNRegressor() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.NewDNNRegressor(estimator.DNNRegressor{
		HiddenUnits: []int{4}, FeatureColumns: []estimator.FeatureColumn{estimator.NumericColumn{Key: "feats"}},
		Config: estimator.RunConfig{ModelDir: dir},
	})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(20)))
	names, err := e.VariableNames()
	check(err)
	for _, name := range names {
		if len(name) > 4 && name[:4] == "dnn/" {
			fmt.Println(name)
		}
	}
	// Output:
	// dnn/hiddenlayer_0/bias
	// dnn/hiddenlayer_0/kernel
	// dnn/logits/bias
	// dnn/logits/kernel
}
